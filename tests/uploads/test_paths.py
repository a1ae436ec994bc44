"""Names of uploaded files: whatever is sent, what is taken stays below its folder."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.uploads.errors import NameRefused
from jobs.uploads.paths import checked_path, problem_with

SUFFIXES = frozenset({".m4s", ".mp4", ".m3u8", ".json", ".jpg"})


@pytest.mark.parametrize(
    "path", ["master.m3u8", "720p/segment_00000.m4s", "a/b/c/d.mp4", "x.tar.mp4", "_.json", "A.JPG"]
)
def test_plain_names_are_taken(path):
    assert checked_path(path, SUFFIXES) == path


@pytest.mark.parametrize(
    "path",
    [
        "", ".", "..", "/", "../x.mp4", "a/../../x.mp4", "/etc/x.mp4", "a//x.mp4", "a/./x.mp4", ".hidden.mp4",
        "a/.incoming/x.mp4", "-rf.mp4", "a\\..\\x.mp4", "C:x.mp4", "x.mp4\0.jpg", "x.mp4\n", "x .mp4", "x.mp4/",
        "x.py", "x", "x.mp4.exe", "%2e%2e/x.mp4", "．．/x.mp4", "ｘ.mp4", "~/x.mp4", "$x.mp4", "x\u202e4pm.mp4",
        "x" * 101 + ".mp4", "/".join("abcdefghi") + ".mp4", "a/" * 200 + "x.mp4",
    ],
)  # fmt: skip
def test_others_are_refused_with_a_reason(path):
    with pytest.raises(NameRefused, match="is refused: "):
        checked_path(path, SUFFIXES)


@given(st.text(st.sampled_from("./\\ab-_~\0 :%２"), max_size=20).map(lambda text: text + ".mp4") | st.text())
def test_whatever_is_taken_stays_below_its_folder(path):
    if not problem_with(path, SUFFIXES):
        assert posixpath.normpath(f"/folder/{path}") == f"/folder/{path}"
        assert path.isascii()
        assert path.isprintable()
