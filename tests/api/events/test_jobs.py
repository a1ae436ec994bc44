"""The stream of jobs: first how things stand, then what changes, and after a break what was missed."""

import time
from typing import Any

import pytest
from django.test import Client

from jobs.conf import conf
from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.report import report
from jobs.selectors import changes
from jobs.states import PhaseStatus, QualityStatus, Status
from tests.api.events.listening import Site
from tests.factories import age, claimed, job_in, make_job, make_worker

JOBS = "/api/events/jobs"


def test_first_comes_how_things_stand(site: Site, anna: Client):
    worker = make_worker("media-1")
    ref = claimed(worker, queue="media", subject="film.mkv", max_attempts=4)
    quality = QualityReport("720p", QualityStatus.IN_PROGRESS, 30, 10, 3, details={"eta": 61.4, "fps": 9})
    report(Report(ref, 40, "encoding", [PhaseReport("encode", 0, PhaseStatus.RUNNING, 40)], [quality]))
    make_job(queue="mail")
    stream = site.listen(JOBS, anna)
    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream")
    assert stream.headers["x-accel-buffering"] == "no"
    assert "no-transform" in stream.headers["cache-control"]
    assert "content-length" not in stream.headers
    snapshot = stream.next("snapshot")
    (job,) = snapshot["jobs"]
    assert job | {
        "id": ref.job_id, "queue": "media", "kind": "test.noop", "subject": "film.mkv", "state": "claimed",
        "status": "running", "progress": 40, "step": "encoding", "attempt": 1, "max_attempts": 4, "eta": 61,
        "worker": {"id": str(worker.pk), "name": "media-1"}, "error": None,
        "phases": [{"name": "encode", "status": "running", "progress": 40}],
        "qualities": [{
            "name": "720p", "status": "in_progress", "progress": 30, "segments_completed": 3, "segments_total": 10,
            "eta": 61, "error": None,
        }],
    } == job  # fmt: skip
    assert snapshot["resumed"] is False
    assert {name: (queue["pending"], queue["running"]) for name, queue in snapshot["depth"]["queues"].items()} == {
        "mail": (1, 0),
        "media": (0, 1),
    }


def test_then_what_changes(site: Site, anna: Client):
    stream = site.listen(JOBS, anna)
    assert stream.next("snapshot")["jobs"] == []
    worker = make_worker("media-1")
    job = make_job()
    assert stream.job(job.pk, state="unclaimed")["worker"] is None
    ref = claimed(worker, job)
    assert stream.job(job.pk, state="claimed")["worker"]["name"] == "media-1"
    assert stream.next("depth", lambda depth: depth["running"] == 1)["pending"] == 0
    finish_one(Outcome.failed(ref, "disk full\nand more", fatal=True))
    assert stream.job(job.pk, state="failed")["error"] == "disk full"
    clear([job.pk], "cleared")
    assert stream.next("gone") == {"id": job.pk}


def test_many_reports_become_few_updates_and_the_last_one_counts(site: Site, anna: Client):
    ref = claimed()
    stream = site.listen(f"{JOBS}/{ref.job_id}", anna)
    stream.next("snapshot")
    began = time.monotonic()
    for percent in range(1, 41):
        quality = QualityReport("720p", QualityStatus.IN_PROGRESS, progress=percent)
        report(Report(ref, percent, f"step {percent}", [], [quality]))
    updates: list[Any] = []
    while not updates or updates[-1]["progress"] < 40:
        updates.append(stream.next("job"))
    assert len(updates) <= (time.monotonic() - began) / conf.SSE_INTERVAL + 1
    assert updates[-1]["step"] == "step 40"
    assert updates[-1]["qualities"][0]["progress"] == 40


def test_what_changes_with_time_alone_is_told_too(site: Site, anna: Client):
    ref = claimed()
    stream = site.listen(JOBS, anna)
    assert stream.next("snapshot")["jobs"][0]["state"] == "claimed"
    age(10_000)
    assert stream.job(ref.job_id)["state"] == "expired"


def test_a_reader_that_comes_back_is_told_what_it_missed(site: Site, anna: Client):
    ref, doomed, quiet = claimed(), job_in(Status.COMPLETED), job_in(Status.COMPLETED)
    stream = site.listen(JOBS, anna)
    stream.next("snapshot")
    position = stream.settled()
    stream.leave()
    finish_one(Outcome.completed(ref))
    clear([doomed.pk], "cleared")
    new = make_job()
    for again in (site.listen(JOBS, anna, Last_Event_ID=position), site.listen(f"{JOBS}?after={position}", anna)):
        snapshot = again.next("snapshot")
        assert snapshot["resumed"] is True
        assert {job["id"]: job["state"] for job in snapshot["jobs"]} == {ref.job_id: "completed", new.pk: "unclaimed"}
        assert snapshot["gone"] == [doomed.pk]
        assert quiet.pk not in snapshot["gone"]


def test_what_cannot_be_caught_up_with_begins_anew(site: Site, anna: Client, monkeypatch: pytest.MonkeyPatch):
    make_job(), make_job()
    future = site.listen(JOBS, anna, Last_Event_ID="999999").next("snapshot")
    monkeypatch.setattr(changes, "MOST", 1)
    much = site.listen(JOBS, anna, Last_Event_ID="0").next("snapshot")
    assert (future["resumed"], much["resumed"]) == (False, False)


def test_a_flood_is_told_as_such_and_watched_jobs_are_told_all_the_same(
    site: Site, anna: Client, monkeypatch: pytest.MonkeyPatch
):
    watched = make_job(queue="watched")
    everybody, one = site.listen(JOBS, anna), site.listen(f"{JOBS}/{watched.pk}", anna)
    everybody.next("snapshot"), one.next("snapshot")
    monkeypatch.setattr(changes, "MOST", 0)
    claimed(job=watched)
    make_job()
    assert everybody.next("many") == {}
    assert one.job(watched.pk, state="claimed")


def test_readers_are_told_of_their_queues_only(site: Site, anna: Client):
    stream = site.listen(f"{JOBS}?queue=mail&queue=media", anna)
    stream.next("snapshot")
    other, mine = make_job(queue="other"), make_job(queue="mail")
    assert stream.next("job")["id"] == mine.pk
    move_to_queue([mine.pk], "other", "by anna")
    assert stream.next("gone") == {"id": mine.pk}
    move_to_queue([other.pk], "media", "by anna")
    assert stream.next("job")["id"] == other.pk


def test_a_move_is_not_missed_by_who_comes_back(site: Site, anna: Client):
    leaves, comes = make_job(queue="mail"), make_job(queue="other")
    stream = site.listen(f"{JOBS}?queue=mail", anna)
    stream.next("snapshot")
    position = stream.settled()
    stream.leave()
    move_to_queue([leaves.pk], "other", "by anna"), move_to_queue([comes.pk], "mail", "by anna")
    snapshot = site.listen(f"{JOBS}?queue=mail&after={position}", anna).next("snapshot")
    assert [job["id"] for job in snapshot["jobs"]] == [comes.pk]
    assert snapshot["gone"] == [leaves.pk]


def test_readers_are_told_of_their_jobs_only(site: Site, anna: Client):
    done, waiting, other = job_in(Status.COMPLETED), make_job(), make_job(queue="other")
    stream = site.listen(f"{JOBS}?ids={done.pk},{waiting.pk}", anna)
    snapshot = stream.next("snapshot")
    assert {job["id"] for job in snapshot["jobs"]} == {done.pk, waiting.pk}
    assert "depth" not in snapshot
    finish_one(Outcome.completed(claimed(job=other)))
    finish_one(Outcome.completed(claimed(job=waiting)))
    told = [stream.next("job")]
    while told[-1]["status"] != Status.COMPLETED:
        told.append(stream.next("job"))
    assert {job["id"] for job in told} == {waiting.pk}, "what happened to the other one before is not told"
