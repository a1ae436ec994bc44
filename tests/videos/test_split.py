"""A video that several workers encode: the same version as by one, whatever becomes of its parts."""

import json
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.core.files.storage import InMemoryStorage

from jobs.handlers.base import Child, ClaimRef, Spawn
from jobs.handlers.ffmpeg import find_ffmpeg
from jobs.handlers.files import write_whole
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.spawn import spawn
from jobs.models import Job, PhaseProgress, WebhookDelivery
from jobs.selectors.qualities import qualities_of
from jobs.states import Hold, QualityStatus, Status
from jobs.testing import drain
from jobs.videos.lifecycle.add import add_video
from jobs.videos.lifecycle.collect import collect_now
from jobs.videos.lifecycle.reach import files_of as files_of_video
from jobs.videos.lifecycle.reach import files_of_part
from jobs.videos.models import Video
from jobs.videos.names import version_folder
from jobs.videos.selectors import library
from jobs.videos.shown.live import live_state
from jobs.videos.split.splitting import folder_of_part, is_split
from jobs.videos.transcoding.chunks import sha256_of
from tests.factories import claimed, reload
from tests.videos import sources
from tests.videos.bad_sources import write_concat_script
from tests.videos.checker import check
from tests.videos.library import stored_files
from tests.videos.watching import watched

pytestmark = [pytest.mark.once, pytest.mark.django_db]

SIZES = {"480p": (854, 480), "360p": (640, 360)}
PARTS = 4  # two chunks of two qualities


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sources") / "twelve.mp4"
    graphs = sources.lavfi("testsrc2=size=854x480:rate=10:duration=12", "sine=duration=12")
    sources.ffmpeg(*graphs, *sources.X264, *sources.AAC, path)
    return path


@pytest.fixture(autouse=True)
def _here(settings: LazySettings, media: Path, tmp_path: Path) -> None:
    settings.JOBS_WORK_DIR, settings.JOBS_VIDEO_CHUNK_SEGMENTS = str(tmp_path / "work"), 1
    settings.JOBS_BACKOFF_BASE, settings.JOBS_WEBHOOK_URL = 0, "https://example.org/told"


@pytest.fixture
def video(source: Path) -> Video:
    return add_video(source, qualities=list(SIZES), split=True, priority=5, queue="films").video


def parts() -> list[Job]:
    return list(Job.objects.filter(kind="transcode.chunk").order_by("pk"))


def job_of(video: Video) -> Job:
    return reload(video.job_id or 0)


def state_of(video: Video):
    return live_state(library().get(pk=video.pk), inspect=True)


def files_of(media: Path, video: Video) -> dict[str, bytes]:
    video.refresh_from_db()
    folder = media / version_folder(video.pk, video.version)
    check(folder, duration=12, frame_rate=10, sizes=SIZES, audio=True, frames=120)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stored(media: Path, part: Job) -> Path:
    """The chunk that a part left in the storage."""
    assert part.result
    [path] = (media / part.result["folder"]).glob("*.mp4")
    return path


def imposter(path: Path, words: str) -> str:
    """An ffmpeg that does something else now and then."""
    path.write_text(f'#!/bin/sh\ncase "$*" in {words} esac\nexec {find_ffmpeg()} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_it_is_the_same_to_the_last_byte_as_one_that_a_single_worker_made(video: Video, source: Path, media: Path):
    by_many = [job.kind for job in drain()]
    assert by_many == ["transcode.hls", *["transcode.chunk"] * PARTS, "transcode.hls", "videos.collect"]
    alone = add_video(source, qualities=list(SIZES), split=False, force=True).video
    assert [job.kind for job in drain()] == ["transcode.hls"]
    assert files_of(media, video) == files_of(media, alone)
    assert not [name for name in stored_files(media) if "/parts/" in name]  # joined, they are of no use


def test_its_parts_wait_behind_whole_videos_in_the_same_queue_and_tell_no_webhook(video: Video):
    drain(max_jobs=1)
    told = {(part.queue, part.priority, part.size, part.status) for part in parts()}
    assert told == {("films", 4, video.source_size, Status.PENDING)}
    assert [part.subject for part in parts()] == [f"twelve: {name}, {n} of 2" for name in SIZES for n in (1, 2)]
    drain()
    assert {message.job_id for message in WebhookDelivery.objects.all()}.isdisjoint(part.pk for part in parts())


def test_the_viewer_sees_its_qualities_move_while_others_encode_them(video: Video):
    drain(max_jobs=1)
    assert job_of(video).hold == Hold.WAITING
    began = state_of(video)
    assert (began.status, began.again) == ("processing", 1.5)
    assert [(bar.name, bar.percent) for bar in began.bars] == [("480p", 0), ("360p", 0)]
    drain(max_jobs=1)
    state = state_of(video)
    assert [(bar.name, bar.percent) for bar in state.bars] == [("480p", 50), ("360p", 0)]
    assert state.bars[0].text.startswith("1 of 2 segments · ")
    assert state.bars[0].text.endswith(" left")
    assert state.text == "Transcoding in parts: 1 of 4 done, 0 under way"
    assert began.percent < state.percent == 95 * 50 // 200
    drain(max_jobs=3)
    state = state_of(video)  # nobody has joined them yet
    assert ([bar.percent for bar in state.bars], state.percent) == ([99, 99], 94)
    assert state.text.startswith("Next in line")
    drain()
    rows = qualities_of([video.job_id or 0])[video.job_id or 0]
    assert [(row.status, row.progress) for row in rows] == [(QualityStatus.COMPLETED, 100)] * 2


@pytest.mark.parametrize("damage", ["one bit", "gone"])
def test_a_part_that_is_damaged_or_gone_is_made_again_and_no_other(video: Video, media: Path, damage: str):
    drain(max_jobs=1 + PARTS)
    file = stored(media, parts()[2])
    if damage == "gone":
        file.unlink()
    else:
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.unlink()  # else the worker's own copy, which is the same file, would be damaged, too
        file.write_bytes(content)
    drain()
    assert job_of(video).status == Status.COMPLETED, job_of(video).last_error
    assert [part.subject for part in parts()[PARTS:]] == ["twelve: 360p, 1 of 2"]
    assert files_of(media, video)


def test_a_part_that_is_a_script_is_made_again_and_what_it_names_stays_closed(video: Video, media: Path, source: Path):
    """Its worker has written the hash to it, and a right one."""
    drain(max_jobs=1 + PARTS)
    file, secret = stored(media, parts()[2]), media / "secret.mp4"
    secret.write_bytes(source.read_bytes())
    note = json.loads(file.with_suffix(".json").read_text())
    file.unlink()
    write_concat_script(file, "../" * 30 + str(secret.relative_to("/")))
    write_whole(file.with_suffix(".json"), json.dumps(note | {"sha256": sha256_of(file)}))
    with watched(secret) as watch:
        drain()
        assert not watch.was_opened
    assert [part.subject for part in parts()[PARTS:]] == ["twelve: 360p, 1 of 2"]
    assert files_of(media, video)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"facts": {"demuxer": "concat"}}, "demuxer must be one of asf, avi, "),
        ({"pinned": {"segments": "1 -y"}}, "segments must be a whole number"),
    ],
)
def test_what_an_earlier_attempt_elsewhere_has_left_is_not_believed_blindly(video: Video, change, said: str):
    drain(max_jobs=1 + PARTS)
    job, probed = job_of(video), PhaseProgress.objects.get(job=video.job_id, name="probe")
    PhaseProgress.objects.filter(pk=probed.pk).update(result=probed.result | change.get("facts", {}))
    assert job.checkpoint
    pinned = job.checkpoint["pinned"] | change.get("pinned", {})
    Job.objects.filter(pk=job.pk).update(checkpoint={"pinned": pinned})
    drain(raise_errors=False)
    assert (job_of(video).status, job_of(video).attempt) == (Status.FAILED, 1)
    assert said in job_of(video).last_error


def test_what_nobody_can_make_fails_its_quality_as_without_others(video: Video, settings: LazySettings, tmp_path: Path):
    settings.JOBS_FFMPEG = imposter(tmp_path / "ffmpeg", "*scale=854:480*) exit 1;;")
    drain(scheduled=True, raise_errors=False)
    assert {part.status for part in parts() if "480p" in part.subject} == {Status.FAILED}
    job, video = job_of(video), library().get(pk=video.pk)
    assert (job.status, job.attempt) == (Status.COMPLETED, 3)
    assert [quality.name for quality in video.qualities.all()] == ["360p"]
    assert list(video.failed_qualities) == ["480p"]


def test_with_another_ffmpeg_no_part_is_made_but_all_are_joined(video: Video, settings, tmp_path: Path, media, caplog):
    """Chunks of two versions might not fit together: who has the wrong one leaves them to others."""
    caplog.set_level("INFO")
    drain(max_jobs=PARTS)  # all but the last
    other = imposter(tmp_path / "ffmpeg", '-version) echo "ffmpeg version 1"; exit;;')
    settings.JOBS_FFMPEG = other
    drain(max_jobs=1, raise_errors=False)
    assert "it has ffmpeg ffmpeg version 1" in parts()[-1].last_error
    settings.JOBS_FFMPEG = ""
    drain(max_jobs=1, scheduled=True)
    settings.JOBS_FFMPEG = other
    caplog.clear()
    drain()
    assert files_of(media, video)
    assert "chunk encoded" not in caplog.text


def test_what_is_missing_with_another_ffmpeg_is_made_anew_as_a_whole(video: Video, settings, tmp_path, media, caplog):
    drain(max_jobs=PARTS)
    settings.JOBS_FFMPEG = imposter(tmp_path / "ffmpeg", '-version) echo "ffmpeg version 1"; exit;;')
    caplog.set_level("INFO")
    caplog.clear()
    drain(scheduled=True, raise_errors=False)
    assert files_of(media, video)
    assert caplog.text.count("chunk encoded quality=360p") == 2
    assert "chunk encoded quality=480p" not in caplog.text


def test_without_keeping_qualities_the_next_attempt_orders_all_anew(video: Video, settings, tmp_path: Path):
    settings.JOBS_KEEP_COMPLETED_QUALITIES = False
    settings.JOBS_FFMPEG = imposter(tmp_path / "ffmpeg", "*concat*) exit 1;;")
    drain(max_jobs=2 + PARTS, raise_errors=False)
    settings.JOBS_FFMPEG = ""
    drain(scheduled=True)
    assert job_of(video).status == Status.COMPLETED
    assert len(parts()) == 2 * PARTS


class Elsewhere(InMemoryStorage):
    """As one on another machine: it has files, but no paths to them."""

    opened: ClassVar[list[str]] = []

    def open(self, name: str, mode: str = "rb") -> Any:
        self.opened.append(name)
        return super().open(name, mode)


def test_a_source_that_lies_elsewhere_is_copied_once_for_all_of_its_parts(source: Path, settings: LazySettings):
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": f"{__name__}.Elsewhere"}}
    video = add_video(source, qualities=["360p"], split=True).video
    Elsewhere.opened.clear()
    drain()
    assert library().get(pk=video.pk).status == "ready", job_of(video).last_error  # type: ignore[attr-defined]
    assert Elsewhere.opened.count(video.source) == 1


def test_cancel_it_and_its_parts_are_cancelled_and_their_files_collected(video: Video, media: Path):
    drain(max_jobs=2)
    assert [name for name in stored_files(media) if "/parts/" in name]
    assert collect_now(video.pk).removed == []  # it waits for them
    cancel([video.job_id or 0])
    assert [part.status for part in parts()] == [Status.COMPLETED, *[Status.CANCELLED] * (PARTS - 1)]
    assert len(collect_now(video.pk).removed) == 1
    assert stored_files(media) == [video.source]
    assert not (media / "videos" / str(video.pk) / "parts").exists()


def test_a_remote_worker_may_read_the_source_and_hand_over_its_own_chunk_alone(video: Video):
    drain(max_jobs=2)
    part, claim = parts()[0], ClaimRef(parts()[0].pk, UUID(int=7 << 120))
    reach = files_of_part(claim, part.payload).checked(claim)
    assert reach.reads == {video.source: video.source_sha256}
    assert (reach.folders, reach.writes) == ((), f"videos/{video.pk}/parts/{part.pk}-07000000")
    assert part.result
    whole = files_of_video(ClaimRef(video.job_id or 0, UUID(int=0)), job_of(video).payload)
    assert whole.may_read(f"{part.result['folder']}/00000.mp4")
    assert not whole.may_read(f"videos/{video.pk + 1}/parts/1-00000000/00000.mp4")


def test_a_chunk_reads_no_source_but_that_of_the_video_it_was_spawned_for(video: Video):
    """Whatever the worker that spawned it has written into its payload."""
    mine = {"video": video.pk, "source": video.source}
    secret = {"video": video.pk + 1, "source": f"sources/{video.pk + 1}/secret.mp4"}
    older = {"video": video.pk, "source": f"sources/{video.pk}/older.mp4"}
    orders = [Spawn("transcode.chunk", payload) for payload in (mine, secret, older)]
    spawned = spawn(claimed(job=job_of(video)), orders, remote=True)
    by_hand = enqueue("transcode.chunk", mine).job_id
    jobs = [*(child.id for child in spawned), by_hand]
    reads = [files_of_part(ClaimRef(pk, UUID(int=0)), reload(pk).payload).reads for pk in jobs]
    assert reads == [{video.source: video.source_sha256}, {}, {}, {}]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"folder": "videos/5/parts/7-0123abcd"}, "videos/5/parts/7-0123abcd"),
        ({"folder": "videos/5/parts/8-0123abcd"}, None),  # of another job
        ({"folder": "videos/6/parts/7-0123abcd"}, None),
        ({"folder": "videos/5/parts/../../../sources/9"}, None),
        ({"folder": "videos/5/parts/../../6/7-0123abcd"}, None),
        ({"folder": "videos/5/parts/7-0123abcd/"}, None),
        ({"folder": ["videos/5/parts/7-0123abcd"]}, None),
        ("videos/5/parts/7-0123abcd", None),
        (None, None),
    ],
)
def test_a_part_is_looked_for_in_a_folder_of_its_own_and_nowhere_else(result: object, expected: str | None):
    assert folder_of_part(5, Child(7, "360p, 1 of 2", "transcode.chunk", Status.COMPLETED, 100, result)) == expected


@pytest.mark.parametrize(
    ("asked", "setting", "expected"),
    [(None, 0, False), (None, 60, True), (None, 61, False), (True, 0, True), (False, 60, False)],
)
def test_the_order_decides_or_else_the_setting(settings: LazySettings, asked, setting, expected):
    settings.JOBS_VIDEO_SPLIT_AFTER = setting
    assert is_split(asked, 60.5) is expected


@pytest.mark.parametrize(
    "payload",
    [{}, {"video": 1, "source": "sources/1/a.mp4"}, {"video": 1, "source": "sources/1/../2/a.mp4", "job": 1}],
)
def test_a_part_that_was_written_by_hand_is_refused_for_good(payload: dict[str, object]):
    job = reload(enqueue("transcode.chunk", payload).job_id)
    drain(raise_errors=False)
    assert (reload(job.pk).status, reload(job.pk).attempt) == (Status.FAILED, 1)
    assert "cannot be transcoded" in reload(job.pk).last_error
