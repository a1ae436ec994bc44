"""`manage.py demo`: real jobs on a database that has none yet."""

from pathlib import Path

import pytest

from jobs import enqueue
from jobs.lifecycle.queues import pause
from jobs.models import Job
from tests.manage import manage

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_demo_runs_five_jobs_and_shows_what_became_of_each(tmp_path: Path):
    done = manage("demo", MEDIA_ROOT=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert Job.objects.count() == 5
    for job in Job.objects.all():
        row = next(line for line in done.stdout.splitlines() if f"│ {job.pk} " in line)
        assert job.kind in row
        assert job.status in row
    assert "Everything ended as it should" in done.stdout
    assert f"manage.py show_job {Job.objects.get(status='failed').pk}" in done.stdout
    assert (tmp_path / "demo" / "fractal-180p.png").read_bytes().startswith(b"\x89PNG")


def test_the_demo_fails_when_a_job_does_not_end_as_it_should(tmp_path: Path):
    not_a_folder = tmp_path / "media"
    not_a_folder.touch()
    done = manage("demo", MEDIA_ROOT=str(not_a_folder))
    assert done.returncode == 1
    assert "The demo did not end as it should: see the table above." in done.stderr


def test_the_demo_says_that_it_works_on_other_jobs_too(tmp_path: Path):
    mine = enqueue("demo.checksum", {"folder": "docs"}).job_id
    done = manage("demo", MEDIA_ROOT=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 other job waits in these queues already: the demo's worker runs it, too." in done.stdout
    assert Job.objects.get(pk=mine).status == "completed"


def test_the_demo_enqueues_nothing_into_a_paused_queue_and_says_how_to_resume_it(tmp_path: Path):
    pause("media")
    pause("elsewhere")
    done = manage("demo", MEDIA_ROOT=str(tmp_path))
    assert done.returncode == 1
    assert "manage.py resume_queue media\n" in done.stderr
    assert "elsewhere" not in done.stderr
    assert not Job.objects.exists()
