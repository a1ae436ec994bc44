"""What a page shows of a video's job: made once, drawn by the template and, while it changes, by live.js."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from jobs.models import Dependency, Job, PhaseProgress, QualityProgress
from jobs.states import Hold, PhaseStatus, QualityStatus, ShownState, Status
from jobs.videos.models import Video
from jobs.videos.selectors import LARGE, bars_of
from jobs.videos.shown.texts import facts
from jobs.videos.shown.waiting import waiting_text

SOON, LATER = 1.5, 5.0  # seconds until the page asks again: what runs moves, what waits does not
UNTIL_JOINED = 95  # per cent of the whole when all parts are there
PHASES = {
    "probe": "Examining the source",
    "thumbnail": "Taking a thumbnail",
    "transcode": "Transcoding",
    "master_playlist": "Writing the playlists",
    "finalize": "Checking and publishing",
}
WARNINGS = {
    ShownState.EXPIRED: "its worker has gone silent, and another will take over",
    ShownState.STALLED: "no progress for a while",
}
CANCELLED = "Its job was cancelled."


@dataclass(frozen=True)
class Bar:
    """One quality."""

    name: str
    status: str
    percent: int
    text: str
    error: str = ""


@dataclass(frozen=True)
class Live:
    status: str  # of the video
    version: str
    again: float | None = None  # seconds until something may have changed; None = it has ended
    percent: int = 0
    text: str = ""
    error: str = ""
    bars: list[Bar] = field(default_factory=list)

    @property
    def failed(self) -> list[Bar]:
        return [bar for bar in self.bars if bar.status == QualityStatus.FAILED]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def live_state(video: Video, *, inspect: bool) -> Live:
    """Where the video's job stands; texts of errors only for those who may inspect. The video has its status."""
    state = Live(video.status, video.version, error=video.error if inspect else "")  # type: ignore[attr-defined]
    job = video.own_job().with_state().defer(*LARGE).first()
    if job is None:
        return state
    rows = bars_of([job.pk])[job.pk]
    state = replace(state, percent=percent_of(job, rows), bars=[bar(row, inspect=inspect) for row in rows])
    if job.status == Status.RUNNING:
        return replace(state, again=SOON, text=running_text(job))
    if job.hold == Hold.WAITING:
        return replace(state, again=SOON, text=split_text(job))
    if job.status == Status.PENDING:
        return replace(state, again=LATER, text=waiting_text(job))
    if job.status == Status.CANCELLED and inspect:
        return replace(state, error=state.error or CANCELLED)
    return state


def bar(row: QualityProgress, *, inspect: bool) -> Bar:
    details = row.details if isinstance(row.details, dict) else {}
    text = row.get_status_display()
    if row.status == QualityStatus.IN_PROGRESS:
        text = facts(row.segments_completed, row.segments_total, details) or "starting"
    return Bar(row.name, row.status, row.progress, text, row.error if inspect else "")


def percent_of(job: Job, qualities: Sequence[QualityProgress]) -> int:
    """While others encode its parts, the job itself says nothing: its qualities do."""
    if job.status != Status.PENDING or not any(row.status == QualityStatus.IN_PROGRESS for row in qualities):
        return job.progress
    wanted = [row.progress for row in qualities if row.status != QualityStatus.SKIPPED]
    return max(job.progress, UNTIL_JOINED * sum(wanted) // (100 * len(wanted)))


def split_text(job: Job) -> str:
    parts = Dependency.objects.of([job.pk]).spawned().progress()
    return f"{PHASES['transcode']} in parts: {parts.ended} of {parts.total} done, {parts.running} under way"


def running_text(job: Job) -> str:
    """The phase it is in, and what is unusual about it."""
    phase = PhaseProgress.objects.filter(job=job.pk, status=PhaseStatus.RUNNING, attempt=job.attempt).first()
    told = [PHASES.get(phase.name, phase.name) if phase else "Starting"]
    if job.attempt > 1:
        told.append(f"attempt {job.attempt} of {job.max_attempts}")
    if job.cancel_requested_at:
        told.append("asked to stop")
    elif warning := WARNINGS.get(job.state):  # type: ignore[attr-defined]  # annotated by with_state()
        told.append(warning)
    return " · ".join(told)
