"""Which of two versions is the older one, for the server and for its workers alike."""

import pytest

from jobs.versions import is_older


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("0.1.0", "0.1", False), ("0.1", "0.1.0", False), ("0.9", "0.10", True), ("1.9.1", "1.10", True),
        ("1.2.0rc1", "1.2", False), ("1.2", "1.2.0.1", True), ("1", "", False), ("", "0.1", True),
    ],
)  # fmt: skip
def test_versions_are_compared_by_their_numbers(version: str, than: str, older: bool):
    assert is_older(version, than) is older
