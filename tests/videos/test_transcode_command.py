"""`transcode`: files become videos, each on its own, and --wait ends when they are ready."""

import json
import os
import pty
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.handlers.base import ClaimRef, Outcome, QualityReport, Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.queues import pause
from jobs.lifecycle.report import report
from jobs.lifecycle.workers import drain, sign_off
from jobs.models import Job, Worker
from jobs.process_identity import ProcessIdentity, this_process
from jobs.states import QualityStatus, Status, WorkerStatus
from jobs.videos.models import Video
from jobs.videos.selectors import is_served
from tests.commands.calls import refused, run, run_json
from tests.concurrency.threads import wait_until
from tests.factories import age, events_of, make_worker, reload
from tests.manage import start
from tests.videos import sources
from tests.videos.library import begun, make_version, make_video, result_of, source_file, status_of, stored_files

pytestmark = pytest.mark.django_db
TIMEOUT = 60
ESCAPE = "\x1b"
HEEDING_CTRL_C = ("env", "--default-signal=INT")  # what a shell starts in the background ignores it, and so do heirs
OVER_720 = ("2160p", "1080p")  # the first of them was not asked for

# Adding


def test_each_file_becomes_a_video(media, tmp_path):
    one, two = source_file(tmp_path, "One.mp4", b"1"), source_file(tmp_path, "Two.mp4", b"2")
    said = run("transcode", one, two, "--quality", "360p,720p", "--strict").splitlines()
    first, second = Video.objects.order_by("pk")
    assert said == [
        f"Added {one} as /videos/one/, to be transcoded by job {first.job_id}.",
        f"Added {two} as /videos/two/, to be transcoded by job {second.job_id}.",
    ]
    assert [job.payload["qualities"] for job in Job.objects.all()] == [["720p", "360p"]] * 2
    assert all(job.payload["strict"] for job in Job.objects.all())


def test_the_title_is_the_video_s(media, tmp_path):
    run("transcode", "--title", "A film", source_file(tmp_path))
    assert Video.objects.get().title == "A film"


def test_as_json(media, tmp_path):
    path = source_file(tmp_path)
    [told] = run_json("transcode", path)["files"]
    video = Video.objects.get()
    assert told == {
        "file": str(path), "created": True, "id": video.pk, "slug": "film", "job_id": video.job_id,
        "status": "pending", "skipped": {}, "error": None,
    }  # fmt: skip


def test_the_same_content_is_met_unless_forced(media, tmp_path):
    path, same = source_file(tmp_path), source_file(tmp_path, "copy.mp4")
    run("transcode", path)
    said = f"Nothing new: {same} has the same content as /videos/film/."
    assert run("transcode", same) == f"{said} To transcode that anew: manage.py retranscode_video film\n"
    [told] = run_json("transcode", same)["files"]
    assert (told["created"], told["slug"], Video.objects.count()) == (False, "film", 1)
    assert "Added" in run("transcode", "--force", same)
    assert Video.objects.count() == 2


def test_content_that_failed_before_is_told_as_such(media, tmp_path):
    finish_one(Outcome.failed(begun(make_video()), "broken", fatal=True))
    said = run("transcode", source_file(tmp_path))
    assert said.endswith("as /videos/film/, which failed. To transcode that anew: manage.py retranscode_video film\n")


@pytest.mark.django_db(transaction=True)
def test_nothing_is_waited_for_if_nothing_was_added(tmp_path):
    refusal = refused("transcode", "--wait", missing := tmp_path / "nowhere.mp4")
    assert (refusal.sentence, refusal.printed) == (f"Not added: {missing}", "")


@pytest.mark.django_db(transaction=True)
def test_a_wanted_quality_that_the_source_is_too_small_for_is_named_at_the_end(media, tmp_path):
    video = make_video(qualities=["1080p", "720p"])
    ref = begun(video)
    skipped = [QualityReport(name, QualityStatus.SKIPPED, error="The source has only 720 lines.") for name in OVER_720]
    report(Report(ref, qualities=skipped))
    finish_one(Outcome.completed(ref, result_of(make_version(video, ref), "720p")))
    path, told = source_file(tmp_path), "/videos/film/ is ready. 1080p was left out: The source has only 720 lines."
    assert run("transcode", "--wait", path).splitlines()[-1] == told
    [document] = run_json("transcode", "--wait", path)["files"]
    assert document["skipped"] == {"1080p": "The source has only 720 lines."}


def test_a_wrong_file_is_told_and_the_others_are_added(media, tmp_path, capsys):
    missing, fine, folder = tmp_path / "nowhere.mp4", source_file(tmp_path), tmp_path
    refusal = refused("transcode", missing, fine, folder)
    assert refusal.code == 1
    assert refusal.sentence == f"Not added, 2 of 3 files: {missing}, {folder}"
    assert refusal.printed.startswith(f"Added {fine} as /videos/film/")
    told = capsys.readouterr().err
    assert f"{missing} does not exist." in told
    assert f"{folder} is a directory; name the files in it." in told
    assert Video.objects.count() == 1


def test_a_wrong_file_is_in_the_document_too(media, tmp_path):
    refusal = refused("transcode", tmp_path / "nowhere.mp4", "--json")
    [told] = json.loads(refusal.printed)["files"]
    assert (told["id"], told["status"]) == (None, None)
    assert told["error"].endswith("nowhere.mp4 does not exist.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--title", "Both", "a.mp4", "b.mp4"], "One title does not fit 2 files"),
        (["--quality", "721p", "a.mp4"], "There is no quality '721p'; choose from 2160p"),
        (["--quality", "720p,,360p", "a.mp4"], "name the qualities with commas between them"),
        (["--quality", "", "a.mp4"], "name the qualities with commas between them"),
        (["--title", "", "a.mp4"], "the value is empty"),
        (["--title", "x" * 201, "a.mp4"], "The title has 201 characters"),
        ([], "the following arguments are required: FILE"),
        (["-odd.mp4"], "-odd.mp4"),
    ],
)
def test_wrong_use_adds_nothing(media, arguments, sentence):
    refusal = refused("transcode", *arguments)
    assert refusal.code == 2
    assert sentence in refusal.sentence
    assert not Video.objects.exists()


def test_a_name_must_not_steer_the_terminal(media, tmp_path, capsys):
    path = source_file(tmp_path, "a\x1b[2Jb.mp4")
    assert ESCAPE not in run("transcode", path)
    assert ESCAPE not in refused("transcode", f"{path}?").sentence
    assert ESCAPE not in capsys.readouterr().err


# Processes


@pytest.fixture
def terminal(transactional_db: None, media: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `manage.py transcode`, on the storage of the test; nothing outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: object, **options: Any) -> subprocess.Popen[str]:
        places = {"MEDIA_ROOT": str(media), "JOBS_WORK_DIR": str(media.parent / "work")}
        env = {**places, "COLUMNS": "140", "JOBS_BACKOFF_BASE": "0.3", "JOBS_SHUTDOWN_TIMEOUT": "0.5"}
        started.append(start("transcode", *map(str, arguments), env=env, **options))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate(timeout=TIMEOUT)


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A real video, one second long."""
    path = tmp_path / "-a 'real' clip.mp4"
    small = sources.lavfi("testsrc2=size=160x90:rate=10:duration=1")
    sources.ffmpeg(*small, *sources.X264, f"file:{path}")
    return path


@pytest.fixture
def long_clip(tmp_path: Path) -> Path:
    """Something that takes longer to transcode than a person takes to press Ctrl-C."""
    path = tmp_path / "long.mp4"
    sources.ffmpeg(*sources.lavfi("testsrc2=size=640x360:rate=30:duration=60"), *sources.X264, path)
    return path


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, out, err


def test_names_that_begin_with_a_dash_come_after_two(terminal, tmp_path):
    source_file(tmp_path, "-one.mp4", b"1")
    source_file(tmp_path, "--two.mp4", b"2")
    source_file(tmp_path, "three.mp4", b"3")
    names = ["three.mp4", "-one.mp4", "--two.mp4", "--"]
    code, out, _ = ended(terminal("three.mp4", "--json", "--", *names[1:], cwd=tmp_path))
    assert code == 1
    assert [told["file"] for told in json.loads(out)["files"]] == names
    assert [video.title for video in Video.objects.order_by("pk")] == ["three", "one", "two"]


@pytest.mark.parametrize("how", ["--no-split", "--split"])
def test_without_a_worker_it_works_itself_on_its_own_jobs_alone(terminal, clip, media, how):
    other = make_video("somebody else's")
    code, out, err = ended(terminal("--wait", how, "--", clip.name, cwd=clip.parent))
    assert code == 0, err
    assert out.splitlines()[1:] == ["/videos/a-real-clip/ is ready."]
    assert ESCAPE not in out + err
    assert status_of(Video.objects.get(slug="a-real-clip")) == "ready"
    assert events_of(other.job_id or 0) == ["enqueued"]
    assert any(name.endswith("/master.m3u8") for name in stored_files(media))
    assert {worker.status for worker in Worker.objects.all()} == {WorkerStatus.OFFLINE}
    assert Job.objects.filter(kind="transcode.chunk").count() == (how == "--split")


def test_what_does_not_get_ready_is_told(terminal, clip):
    broken = source_file(clip.parent, "broken.mp4", b"not a video at all")
    code, out, err = ended(terminal("--wait", "--json", broken, clip))
    assert code == 1
    told = {Path(each["file"]).name: each for each in json.loads(out)["files"]}
    assert told[clip.name]["status"] == "ready"
    assert told["broken.mp4"]["status"] == "failed"
    assert "Refused" in told["broken.mp4"]["error"]
    assert f"Not ready, 1 of 2 files: {broken}" in err


def test_an_attempt_that_fails_is_repeated_here_and_meanwhile_nothing_else_is_done(terminal, tmp_path, media, settings):
    settings.JOBS_MAX_ATTEMPTS = 2
    video, other = make_video(), make_video("somebody else's")
    (media / video.source).unlink()
    code, out, _ = ended(terminal("--wait", source_file(tmp_path)))
    assert code == 1
    assert "/videos/film/ failed: " in out
    assert [name for name in events_of(video.job_id or 0) if name in ("claimed", "retrying", "failed")] == [
        "claimed", "retrying", "claimed", "failed",
    ]  # fmt: skip
    assert events_of(other.job_id or 0) == ["enqueued"]


def test_whoever_stops_it_is_told_that_the_job_waits_for_others(terminal, long_clip):
    process = terminal("--wait", "--no-split", long_clip, inside=HEEDING_CTRL_C)  # so that there is one job to leave
    wait_until(lambda: Job.objects.filter(status=Status.RUNNING, progress__gt=0).exists())
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    [job] = Job.objects.all()
    assert code == 1
    assert f"The worker was stopped. Left to others: 1 job ({job.pk})." in err
    assert (job.status, job.attempt) == (Status.PENDING, 0)


def test_a_paused_queue_is_no_reason_to_wait_for_ever(terminal, tmp_path):
    pause("media")
    code, _, err = ended(terminal("--wait", source_file(tmp_path)))
    assert code == 1
    assert "The queue media is paused" in err
    assert Video.objects.count() == 1


# With a worker elsewhere


@pytest.fixture
def worker(transactional_db: None) -> Worker:
    """One that lives, as far as anybody knows; the test does its work."""
    return make_worker("elsewhere")


def taken_by(worker: Worker) -> ClaimRef:
    wait_until(lambda: Job.objects.filter(status=Status.PENDING).exists())
    [job] = claim(worker, ["media"])
    return job.claim


def finish_at(ref: ClaimRef) -> None:
    video = Video.objects.get()
    finish_one(Outcome.completed(ref, result_of(make_version(video, ref))))


def test_with_a_worker_it_waits_for_it(terminal, worker, tmp_path):
    process = terminal("--wait", source_file(tmp_path))
    ref = taken_by(worker)
    assert process.poll() is None
    finish_at(ref)
    code, out, err = ended(process)
    assert (code, out.splitlines()[1:]) == (0, ["/videos/film/ is ready."])
    assert list(Worker.objects.all()) == [worker], "it did not work itself"
    assert ESCAPE not in out + err


def test_a_job_that_is_cancelled_ends_the_wait(terminal, worker, tmp_path):
    process = terminal("--wait", source_file(tmp_path))
    wait_until(Video.objects.exists)
    cancel(Video.objects.get().job_id or 0)
    code, _, err = ended(process)
    assert code == 1
    assert "Not ready: " in err


def test_when_the_worker_goes_away_it_does_the_work_itself(terminal, worker, clip):
    process = terminal("--wait", "--", clip)
    wait_until(Video.objects.exists)
    sign_off(worker.pk)
    code, out, err = ended(process)
    assert code == 0, err
    assert out.endswith("is ready.\n")


def test_on_a_terminal_there_are_bars_for_each_quality(terminal, worker, tmp_path):
    ours, theirs = pty.openpty()
    process = terminal("--wait", source_file(tmp_path), stderr=theirs)
    os.close(theirs)
    ref = taken_by(worker)
    details = {"fps": 48.0, "speed": 1.9, "eta": 12}
    quality = QualityReport("720p", QualityStatus.IN_PROGRESS, 30, 10, 3, details=details)
    report(Report(ref, progress=28, step="transcode", qualities=[quality]))
    seen = b""
    while not all(text.encode() in seen for text in ("28 %", "720p", "3 of 10 segments · 48 fps")):
        assert select.select([ours], [], [], TIMEOUT)[0], seen
        seen += os.read(ours, 65536)
    finish_at(ref)
    out, _ = process.communicate(timeout=TIMEOUT)
    os.close(ours)
    assert (process.returncode, ESCAPE in out) == (0, False)


# Who serves a queue


def test_a_worker_serves_all_queues_or_those_it_names(db):
    assert not is_served("media")
    make_worker(queues=["mail"])
    assert not is_served("media")
    make_worker(queues=["mail", "media"])
    assert is_served("media")
    Worker.objects.all().delete()
    make_worker(beaten=False)
    assert is_served("media")


def test_one_that_is_silent_drained_or_gone_serves_none(db):
    draining = make_worker()
    drain(draining.pk)
    gone = make_worker()
    sign_off(gone.pk)
    assert not is_served("media")
    make_worker()
    age(10_000)
    assert not is_served("media")


def test_one_whose_process_is_dead_serves_none(db):
    dead = subprocess.Popen(["true"])
    dead.wait()
    here = this_process()
    make_worker(process=ProcessIdentity(here.hostname, dead.pid, here.boot_id, here.pid_namespace, 1))
    assert not is_served("media")
    make_worker(process=here)
    assert is_served("media")


def test_a_job_s_priority_is_raised_while_it_is_waited_for_here(terminal, clip):
    ended(terminal("--wait", "--", clip))
    assert reload(Video.objects.get().job_id or 0).priority == 100
