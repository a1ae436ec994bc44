"""The commands about videos that exist: check, collect, transcode again, remove; and the help of all of them."""

import json
import os
import pty
import shlex
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files import File
from django.core.management import get_commands, load_command_class

from jobs.handlers.files import job_storage
from jobs.models import Job
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video
from jobs.videos.names import version_folder
from jobs.videos.stored import remove_folder
from tests.commands.calls import refused, run, run_json
from tests.factories import age, reload, shift
from tests.manage import start
from tests.videos.library import (
    begun,
    finish_transcode,
    long_ago,
    make_video,
    ready_video,
    reload_video,
    source_file,
    stored_files,
)
from tests.videos.versions import made_once

pytestmark = pytest.mark.django_db
OURS = sorted(name for name, app in get_commands().items() if app == "jobs.videos")


# Help


def test_these_are_the_commands():
    assert OURS == ["check_video", "collect_videos", "remove_video", "retranscode_video", "transcode"]


@pytest.mark.parametrize("name", OURS)
def test_the_help_teaches_and_its_examples_are_right_use(name):
    command = load_command_class("jobs.videos", name)
    parser = command.create_parser("manage.py", name)
    text = parser.format_help()
    examples = text.partition("\nexamples:\n")[2].splitlines()
    assert command.help in text
    assert len(examples) >= 2
    assert all(line.startswith(f"  manage.py {name}") for line in examples)
    assert all(action.help for action in parser._actions)
    for line in examples:
        parser.parse_args(shlex.split(line)[2:])  # a refusal is an error
    module = import_module(f"jobs.videos.management.commands.{name}")
    assert (module.__doc__ or "").startswith(f"`manage.py {name}`: ")


@pytest.mark.parametrize("name", ["check_video", "retranscode_video"])
@pytest.mark.parametrize("slug", ["nothing-here", "a\x00b", "\x1b[2J"])
def test_a_video_that_is_not_there_is_a_failure(name, slug):
    refusal = refused(name, slug)
    assert refusal.code == 1
    assert refusal.sentence.startswith("There is no video '")


# check_video


@pytest.fixture
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a version that is as it should be."""
    return made_once(tmp_path_factory.getbasetemp() / "good-version", sound=True)


def publish_files(video: Video, good: Path) -> Path:
    """Put good files in the place of the published ones; returns where they are."""
    folder = Path(job_storage().path(version_folder(video.pk, video.version)))
    shutil.rmtree(folder)
    shutil.copytree(good, folder)
    return folder


@pytest.mark.parametrize("more", [[], ["--thorough"]])
def test_a_version_that_is_as_it_should_be(media, good, more):
    video = ready_video()
    publish_files(video, good)
    assert run("check_video", "film", *more) == f"/videos/film/ is as it should be: version {video.version}.\n"
    assert run_json("check_video", "film", *more) == {
        "slug": "film", "version": video.version, "thorough": bool(more), "problems": [],
    }  # fmt: skip


def test_a_version_that_was_damaged(media, good):
    folder = publish_files(ready_video(), good)
    (folder / "180p" / "segment_00001.m4s").unlink()
    refusal = refused("check_video", "film")
    assert refusal.code == 1
    assert "segment_00001.m4s" in refusal.printed
    assert refusal.sentence.startswith("/videos/film/ has ")
    told = json.loads(refused("check_video", "film", "--json").printed)
    assert any("segment_00001.m4s" in problem for problem in told["problems"])


def test_a_version_that_is_gone(media):
    video = ready_video()
    shutil.rmtree(media / "videos")
    assert refused("check_video", video.slug).code == 1


def test_a_video_without_a_version(media):
    make_video()
    refusal = refused("check_video", "film")
    assert (refusal.code, refusal.sentence) == (1, "The video 'film' has no published version yet.")


def test_a_version_in_another_storage_is_fetched_to_be_checked(settings: LazySettings, good):
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}
    video = ready_video()
    folder = version_folder(video.pk, video.version)
    remove_folder(job_storage(), folder)
    for path in (path for path in good.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            job_storage().save(f"{folder}/{path.relative_to(good).as_posix()}", File(file))
    assert run("check_video", "film").startswith("/videos/film/ is as it should be")


# collect_videos


def test_what_is_removed_is_told(media):
    video = ready_video()
    retranscode(video)
    finish_transcode(video)
    name = f"videos/{video.pk}/{video.version}"
    assert run("collect_videos") == "Nothing to remove.\n"
    age(4000)
    shift(Video, 4000)
    assert run("collect_videos", "--dry-run") == f"Would be removed: {name}\n"
    assert run_json("collect_videos", "--dry-run") == {"removed": [name], "failed": [], "dry_run": True}
    assert run("collect_videos") == f"Removed: {name}\n"
    assert run_json("collect_videos") == {"removed": [], "failed": [], "dry_run": False}


def test_of_many_the_first_are_named(media):
    for number in range(1, 26):
        source_file(media, f"videos/{number}/1-0123abcd/x")
    lines = run("collect_videos").splitlines()
    assert len(lines) == 21
    assert lines[-1] == "Removed: 5 more."
    assert not stored_files(media)


def test_what_could_not_be_removed_is_a_failure(media, settings):
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "tests.videos.test_collect.Stubborn"}}
    long_ago(source_file(media, "sources/7/a.mp4"))
    refusal = refused("collect_videos")
    assert refusal.code == 1
    assert refusal.sentence == "Could not be removed: sources/7/a.mp4. The log says why."


# retranscode_video


def test_a_new_version_is_ordered_once(media):
    video = ready_video()
    told = run_json("retranscode_video", "film", "--quality", "360p", "--strict")
    job = reload(told["job_id"])
    assert told == {"slug": "film", "job_id": reload_video(video).job_id, "created": True}
    assert (job.payload["qualities"], job.payload["strict"]) == (["360p"], True)
    assert run("retranscode_video", "film") == (
        f"Nothing new: job {job.pk} of /videos/film/ is pending or running already.\n"
    )


def test_a_quality_that_does_not_exist_is_wrong_use(media):
    ready_video()
    refusal = refused("retranscode_video", "film", "--quality", "721p")
    assert refusal.code == 2
    assert "There is no quality '721p'" in refusal.sentence
    assert Job.objects.filter(kind="transcode.hls").count() == 1


# remove_video


@pytest.mark.django_db(transaction=True)
def test_a_video_is_removed_with_its_files(media):
    video = make_video()
    assert run_json("remove_video", "film", "--yes") == {
        "id": video.pk, "slug": "film", "cancelled": [video.job_id], "asked_to_stop": [],
    }  # fmt: skip
    assert not stored_files(media)


def test_what_becomes_of_its_job_is_told(media):
    ref = begun(make_video())
    assert run("remove_video", "film", "--yes").splitlines() == [
        "Removed /videos/film/ with its files.", f"Asked to stop: 1 job ({ref.job_id}).",
    ]  # fmt: skip


def answered(answer: str) -> tuple[int, str]:
    """Run it with a person at the keyboard, who reads the question first."""
    keyboard, stdin = pty.openpty()
    try:
        process = start("remove_video", "film", stdin=stdin)
        assert process.stderr is not None
        said = ""
        while not said.endswith("[y/N] "):
            char = process.stderr.read(1)
            assert char, f"it asked nothing, but said: {said}"
            said += char
        os.write(keyboard, answer.encode())
        _, err = process.communicate(timeout=30)
        return process.returncode, said + err
    finally:
        os.close(stdin)
        os.close(keyboard)


@pytest.mark.django_db(transaction=True)
def test_it_asks_first(media):
    ready_video(title="A film", name="x.mp4")
    Video.objects.update(slug="film")
    code, said = answered("\n")
    assert (code, Video.objects.count()) == (1, 1)
    assert "Delete “A film” with all its files for good?" in said
    assert "Nothing was deleted." in said
    assert (answered("y\n")[0], Video.objects.count()) == (0, 0)


def test_where_nobody_can_be_asked_it_needs_yes(media, monkeypatch):
    make_video()
    with open(os.devnull) as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        refusal = refused("remove_video", "film")
    assert refusal.code == 2
    assert "add --yes" in refusal.sentence
    assert Video.objects.exists()
