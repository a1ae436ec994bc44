"""Names in the storage: readable, but never a way out of their folder."""

from uuid import UUID

import pytest

from jobs.videos.names import (
    LONGEST_NAME,
    folder_of,
    job_of_version,
    safe_file_name,
    source_name,
    version_folder,
    version_of,
    video_of_folder,
)

CLAIM = UUID("0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("film.mp4", "film.mp4"),
        ('A film\'s "best" scenes.mp4', 'A film\'s "best" scenes.mp4'),
        ("-rf film.mp4", "-rf film.mp4"),
        ("映画 Zoë.mkv", "映画 Zoë.mkv"),
        ("Zoe\u0308.mkv", "Zoë.mkv"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\film.avi", "film.avi"),
        ("/absolute/film.mp4", "film.mp4"),
        ("..", "source"),
        (".", "source"),
        ("", "source"),
        ("folder/", "source"),
        ("  film.mp4 ", "film.mp4"),
        (".hidden.mp4", "hidden.mp4"),
        ("a\x00b\nc\x1b[2J.mp4", "a_b_c_[2J.mp4"),
        ("\u202efdp.mp4", "_fdp.mp4"),
        ("\udcff.mp4", "_.mp4"),
        ("film", "film"),
        ("archive.tar.gz", "archive.tar.gz"),
    ],
)
def test_a_file_name_stays_readable_and_in_its_folder(given, stored):
    assert safe_file_name(given) == stored
    assert source_name(7, given) == f"sources/7/{stored}"


@pytest.mark.parametrize("name", ["x" * 500 + ".mp4", "映" * 500 + ".mp4", "film." + "x" * 500, "x" * 500, "🎬" * 99])
def test_a_long_name_is_cut_between_characters_and_keeps_its_ending(name):
    short = safe_file_name(name)
    assert LONGEST_NAME - 4 <= len(short.encode()) <= LONGEST_NAME or name.startswith("film.")
    assert name.startswith(short.removesuffix(".mp4"))
    assert short.endswith(".mp4") == name.endswith(".mp4")


def test_a_version_is_named_after_the_attempt_that_makes_it():
    version = version_of(42, CLAIM)
    assert version == "42-01234567"
    assert version_folder(7, version) == "videos/7/42-01234567"
    assert folder_of(7) == "videos/7"
    assert job_of_version(version) == 42


@pytest.mark.parametrize(
    "name", ["", "42", "42-", "42-0123456", "42-012345678", "42-0123456G", "-01234567", "042-01234567", "a-01234567",
             "42-01234567 ", "42-01234567\n", "٤٢-01234567", "../42-01234567", ".42-01234567", "1" * 20 + "-01234567"],
)  # fmt: skip
def test_other_names_are_no_versions(name):
    assert job_of_version(name) is None


@pytest.mark.parametrize("name", ["", "0", "07", "-7", "7 ", "7\n", "٧", "seven", "7.5", "1" * 20, "lost+found"])
def test_other_names_are_no_videos(name):
    assert video_of_folder("7") == 7
    assert video_of_folder(name) is None
