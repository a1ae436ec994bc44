"""`manage.py demo`: real jobs on a database that has none yet."""

from pathlib import Path

import pytest

from jobs import enqueue
from jobs.lifecycle.queues import pause
from jobs.models import Job
from jobs.videos.models import Video
from tests.manage import manage

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]  # on the embedded database, as it is run


def test_the_demo_transcodes_a_video_and_shows_what_became_of_each_job(tmp_path: Path):
    mine = enqueue("demo.checksum", {"folder": "docs"}).job_id
    done = manage("demo", MEDIA_ROOT=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no second video, for the content is the same" in done.stdout
    assert "1 other job waits in these queues already: the demo's worker runs it, too." in done.stdout
    assert Job.objects.get(pk=mine).status == "completed"
    for job in Job.objects.exclude(pk=mine).exclude(kind="videos.collect"):
        row = next(line for line in done.stdout.splitlines() if f"│ {job.pk} " in line)
        assert job.kind in row
        assert job.status in row
    assert "Everything ended as it should" in done.stdout
    assert f"manage.py show_job {Job.objects.get(status='failed').pk}" in done.stdout
    video = Video.objects.get()
    assert (tmp_path / "videos" / str(video.pk) / video.version / "master.m3u8").exists()
    assert f"videos/{video.slug}/" in done.stdout


def test_the_demo_fails_when_a_job_does_not_end_as_it_should(tmp_path: Path):
    (tmp_path / "demo").touch()  # where one of its jobs wants a folder
    done = manage("demo", MEDIA_ROOT=str(tmp_path))
    assert done.returncode == 1
    assert "The demo did not end as it should: see the table above." in done.stderr


def test_the_demo_says_so_when_nothing_can_be_stored(tmp_path: Path):
    (tmp_path / "media").touch()
    done = manage("demo", MEDIA_ROOT=str(tmp_path / "media"))
    assert done.returncode == 1
    assert "demo clip.mp4 could not be stored: Not a directory. Look at MEDIA_ROOT." in done.stderr


def test_the_demo_enqueues_nothing_into_a_paused_queue_and_says_how_to_resume_it(tmp_path: Path):
    pause("media")
    pause("elsewhere")
    done = manage("demo", MEDIA_ROOT=str(tmp_path))
    assert done.returncode == 1
    assert "manage.py resume_queue media\n" in done.stderr
    assert "elsewhere" not in done.stderr
    assert not Job.objects.exists()
