"""What a transcode says it made, checked before anything is published."""

from dataclasses import dataclass
from typing import Any

from jobs.exceptions import Fatal
from jobs.models import Job
from jobs.videos.names import version_of

QUALITY = {"name": str, "width": int, "height": int, "bitrate": int, "codec": str, "encoder": str, "size": int}


class NotAResult(Fatal):
    """What the transcode returned cannot be published: {why}."""


@dataclass(frozen=True)
class Made:
    video_id: int
    version: str
    duration: float
    size: int
    qualities: list[dict[str, Any]]
    failed: dict[str, str]

    @property
    def names(self) -> list[str]:
        return [quality["name"] for quality in self.qualities]

    @classmethod
    def read(cls, job: Job, result: Any) -> "Made":
        try:
            made = cls(
                video_id=whole(job.payload["video"]),
                version=str(result["version"]),
                duration=float(result["duration"]),
                size=whole(result["size"]),
                qualities=[read_quality(each) for each in result["qualities"]],
                failed={str(name): str(why) for name, why in result.get("failed", {}).items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise NotAResult(why=f"{type(error).__name__}: {error}") from error
        return made.checked(job)

    def checked(self, job: Job) -> "Made":
        """An attempt may publish what it made itself, and no other's."""
        assert job.claim_id is not None, "publish() is called by finish(), which holds the claim"
        own = version_of(job.pk, job.claim_id)
        if self.version != own:
            raise NotAResult(why=f"the version is {self.version!r}, but this attempt makes {own!r}")
        if not self.qualities or len(set(self.names)) < len(self.names):
            raise NotAResult(why=f"these are its qualities: {self.names}")
        return self


def read_quality(told: dict[str, Any]) -> dict[str, Any]:
    return {name: (whole if kind is int else kind)(told[name]) for name, kind in QUALITY.items()}


def whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a whole number")
    return value
