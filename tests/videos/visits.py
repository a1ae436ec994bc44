"""Visits to the pages of a video, and a video that is half-way."""

from typing import Any

from django.test import Client
from django.urls import reverse

from jobs.handlers.base import ClaimRef, PhaseReport, QualityReport, Report
from jobs.lifecycle.report import report
from jobs.states import PhaseStatus, QualityStatus
from jobs.videos.models import Video
from tests.factories import claimed
from tests.videos.shelf import VERSION, make_video, page_address, transcode_job

PLAYER = f'src="/videos/film/files/{VERSION}/master.m3u8"'


def page(client: Client, address: str = page_address()) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def progress(client: Client, slug: str = "film") -> dict[str, Any]:
    answer = client.get(reverse("videos:progress", args=[slug]))
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    return answer.json()


def running_video(**fields: Any) -> tuple[Video, ClaimRef]:
    job = transcode_job(max_attempts=2)
    video = make_video(job=job, **fields)
    return video, claimed(job=job)


def half_way(ref: ClaimRef) -> None:
    report(
        Report(
            ref,
            progress=42,
            phases=[PhaseReport("transcode", 2, PhaseStatus.RUNNING, 40)],
            qualities=[
                QualityReport(
                    "720p", QualityStatus.IN_PROGRESS, 30, 10, 3, details={"fps": 47.96, "speed": 1.92, "eta": 72.4}
                ),
                QualityReport("360p", QualityStatus.COMPLETED, 100, 10, 10),
                QualityReport("1080p", QualityStatus.SKIPPED),
            ],
        )
    )
