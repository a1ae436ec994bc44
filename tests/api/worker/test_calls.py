"""The calls of a remote worker: each does what its verb does, may be repeated, and touches its own jobs alone."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client

from jobs.api.worker import beating
from jobs.exceptions import JobLocked
from jobs.handlers.base import Report
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle import spawn as spawning
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.queues import pause
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.lifecycle.workers import disable, drain, enable
from jobs.models import Job, JobEvent, Worker
from jobs.states import Status, WorkerStatus
from jobs.wire.names import CLAIM_HEADER
from tests.api.calls import error_of, post_json
from tests.api.worker.calls import WORKER, Machine, machine
from tests.factories import age, claimed, events_of, lease_end, make_job, make_worker, reload

pytestmark = pytest.mark.django_db
NOBODY = str(uuid4())
NOT_FOR_THIS_WORKER = "what waits is not for this worker, or others were first"


@pytest.fixture
def box() -> Machine:
    return machine("gpu-box")


@pytest.fixture
def other() -> Machine:
    return machine("other")


def twice(call: Any) -> Any:
    """The answer to a call whose first answer got lost: the same, or told as repeated."""
    first, second = call(), call()
    assert first.status_code == second.status_code == 200, (first.content, second.content)
    assert {**second.json(), "repeated": False} == {**first.json(), "repeated": False}
    return second


def test_a_job_is_claimed_reported_and_completed_and_every_call_may_be_repeated(box: Machine):
    job = make_job(payload={"a": [1, None, "ä"]}, subject="film")
    claim_id = str(uuid4())
    [taken] = twice(lambda: box.claim(claim_id=claim_id)).json()["jobs"]
    assert taken["claim"] == {"job_id": job.pk, "claim_id": claim_id}
    assert (taken["payload"], taken["subject"], taken["lease"]) == ({"a": [1, None, "ä"]}, "film", 120)
    said = {"claim_id": claim_id, "progress": 40, "step": "halfway", "qualities": [{"name": "720p", "progress": 7}]}
    twice(lambda: box.post(f"{job.pk}/progress", said))
    twice(lambda: box.post(f"{job.pk}/checkpoint", {"claim_id": claim_id, "checkpoint": {"at": 5}}))
    twice(lambda: box.verify(job.pk, claim_id))
    assert (reload(job).progress, reload(job).step, reload(job).checkpoint) == (40, "halfway", {"at": 5})
    twice(lambda: box.post(f"{job.pk}/progress", {"claim_id": claim_id, "progress": None, "checkpoint": None}))
    assert (reload(job).progress, reload(job).checkpoint) == (40, None)
    done = twice(lambda: box.post(f"{job.pk}/complete", {"claim_id": claim_id, "result": {"ok": True}}))
    assert done.json() == {"claim": taken["claim"], "status": "completed", "repeated": True}
    assert (reload(job).status, reload(job).result, reload(job).attempt) == (Status.COMPLETED, {"ok": True}, 1)
    assert events_of(job).count("completed") == 1


def test_a_job_that_fails_or_is_handed_back_is_so_once(box: Machine):
    job = make_job()
    claim_id = box.claimed(job)
    told = twice(lambda: box.post(f"{job.pk}/release", {"claim_id": claim_id, "reason": "the disk is full"}))
    assert (told.json()["status"], reload(job).attempt) == ("pending", 0)
    claim_id = box.claimed(job)
    told = twice(lambda: box.post(f"{job.pk}/fail", {"claim_id": claim_id, "error": "broken", "fatal": True}))
    assert (told.json()["status"], reload(job).last_error) == ("failed", "broken")
    assert [events_of(job).count(name) for name in ("released", "failed")] == [1, 1]


def test_a_batch_is_answered_one_by_one_and_none_of_another_worker_is_touched(box: Machine, other: Machine):
    mine, theirs = make_job(), make_job()
    my_claim, their_claim = box.claimed(mine), other.claimed(theirs)
    outcomes = [
        {"claim": {"job_id": mine.pk, "claim_id": my_claim}, "verdict": "completed", "result": 1},
        {"claim": {"job_id": theirs.pk, "claim_id": their_claim}, "verdict": "completed"},
        {"claim": {"job_id": 10**9, "claim_id": NOBODY}, "verdict": "completed"},
    ]
    for _ in range(2):
        answers = box.post("finish", {"outcomes": outcomes}).json()["answers"]
        assert [each.get("refused") for each in answers] == [None, "claim_lost", "claim_lost"]
    assert (answers[0]["status"], answers[0]["repeated"]) == ("completed", True)
    assert [reload(job).status for job in (mine, theirs)] == [Status.COMPLETED, Status.RUNNING]


CALLS: dict[str, dict[str, Any] | None] = {
    "progress": {"progress": 99},
    "checkpoint": {"checkpoint": "stolen"},
    "complete": {"result": "stolen"},
    "fail": {"error": "stolen"},
    "release": {"reason": "stolen"},
    "spawn": {"spawn": [{"kind": "test.noop"}]},
    "verify": None,
}


def call(who: Machine, name: str, job_id: int, claim_id: str) -> Any:
    body = CALLS[name]
    path = f"{job_id}/{name}"
    if body is None:
        return who.get(path, **{CLAIM_HEADER: claim_id})
    return who.post(path, {**body, "claim_id": claim_id})


@pytest.mark.parametrize("name", CALLS)
def test_the_job_of_another_worker_is_not_there_even_for_who_knows_its_claim(name: str, box: Machine, other: Machine):
    job = make_job()
    claim_id = other.claimed(job)
    before = Job.objects.filter(pk=job.pk).values().get()
    for asked in (job.pk, job.pk + 1, 2**63 - 1, 10**25):
        assert error_of(call(box, name, asked, claim_id), 404)[0] == "not_found"
    assert error_of(call(box, name, job.pk, NOBODY), 404)[0] == "not_found"
    assert Job.objects.filter(pk=job.pk).values().get() == before
    direct = claimed(make_worker("direct"))
    assert error_of(call(box, name, direct.job_id, str(direct.claim_id)), 404)[0] == "not_found"


@pytest.mark.parametrize("name", CALLS)
def test_a_claim_on_one_job_says_nothing_of_others(name: str, box: Machine):
    """Or whoever has made one could find out which jobs there are."""
    mine = make_job()
    claim_id = box.claimed(mine)
    theirs = make_job()
    for asked in (theirs.pk, theirs.pk + 1):
        assert error_of(call(box, name, asked, claim_id), 404)[0] == "not_found"
    assert call(box, name, mine.pk, claim_id).status_code == 200


@pytest.mark.parametrize("name", CALLS)
def test_a_claim_that_is_lost_and_one_that_expired_are_told_apart(name: str, box: Machine):
    job = make_job()
    claim_id = box.claimed(job)
    assert error_of(call(box, name, job.pk, NOBODY), 409)[0] == "claim_lost"
    age(121)
    assert error_of(call(box, name, job.pk, claim_id), 409)[0] == "claim_expired"
    box.post("heartbeat", {"claims": [{"job_id": job.pk, "claim_id": claim_id}]})
    assert call(box, name, job.pk, claim_id).status_code == 200


def test_a_claim_that_went_to_somebody_else_is_lost_and_the_late_outcome_changes_nothing(box: Machine, other: Machine):
    job = make_job()
    claim_id = box.claimed(job)
    age(300)
    other.post("heartbeat")
    reap_once()
    theirs = other.claimed(job)
    for name in CALLS:
        assert error_of(call(box, name, job.pk, claim_id), 409)[0] == "claim_lost"
    assert (str(reload(job).claim_id), reload(job).last_worker_name) == (theirs, "other")


def test_spawned_jobs_are_made_once(box: Machine):
    job = make_job()
    claim_id = box.claimed(job)
    body = {"claim_id": claim_id, "spawn": [{"kind": "test.noop", "payload": {"n": n}} for n in (1, 2)]}
    children = twice(lambda: box.post(f"{job.pk}/spawn", body)).json()["children"]
    assert [child["status"] for child in children] == ["pending", "pending"]
    assert Job.objects.count() == 3
    assert len(spawning.children_of(job.pk)) == 2


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ({"kind": "transcode.hls"}, "unless that is registered with spawns=('transcode.hls',)"),
        ({"kind": "test.noop", "options": {"webhook_url": "https://example.org/"}}, "no job with webhook_url"),
        ({"kind": "test.noop", "options": {"allow_unknown": True}}, "no job with allow_unknown"),
        ({"kind": "test.noop", "options": {"scope": "another"}}, "no job with scope"),
    ],
    ids=["kind", "webhook_url", "allow_unknown", "scope"],
)
def test_a_remote_worker_makes_no_job_that_reaches_beyond_its_own(box: Machine, order: dict[str, Any], words: str):
    job = make_job()
    said = {"claim_id": box.claimed(job), "spawn": [{"kind": "test.noop"}, order]}
    code, message = error_of(box.post(f"{job.pk}/spawn", said), 422)
    assert (code, words in message) == ("invalid", True), message
    assert Job.objects.count() == 1


def test_a_worker_hears_of_its_own_folders_alone(box: Machine, other: Machine):
    mine, theirs, done = make_job(), make_job(), make_job()
    claims = [box.claimed(mine), other.claimed(theirs), box.claimed(done)]
    box.post(f"{done.pk}/complete", {"claim_id": claims[2]})
    asked = [mine.pk, theirs.pk, done.pk, 10**12, -1]
    assert twice(lambda: box.post("workdirs", {"jobs": asked})).json() == {"jobs": [mine.pk]}


# Heartbeats


def test_a_heartbeat_renews_reports_and_brings_orders(box: Machine):
    kept, stopped = make_job(), make_job()
    refs = [{"job_id": job.pk, "claim_id": box.claimed(job)} for job in (kept, stopped)]
    cancel(stopped.pk)
    age(60)
    before = lease_end(kept)
    lost = {"job_id": kept.pk, "claim_id": NOBODY}
    body = {
        "claims": [refs[1], lost],
        "version": "0.0.9",
        "metadata": {"jobs": 3},
        "reports": [{"claim": refs[0], "progress": 30}],
    }
    told = twice(lambda: Timeless(box.post("heartbeat", body))).json()
    assert told["orders"] == {"cancel": [refs[1]], "lost": [lost]}
    assert lease_end(kept) > before
    assert (reload(kept).progress, box.worker.version, box.worker.metadata) == (30, "0.0.9", {"jobs": 3})


def test_a_report_that_is_refused_takes_no_other_with_it_and_costs_no_claim(box: Machine, monkeypatch):
    jobs = [make_job() for _ in range(4)]
    wrong, late, good, locked = ({"job_id": job.pk, "claim_id": box.claimed(job)} for job in jobs)
    cancel(jobs[2].pk)

    def meets_trouble(what: Report) -> None:
        if what.claim.job_id == late["job_id"]:
            age(121)
        if what.claim.job_id == locked["job_id"]:
            raise JobLocked(job_id=what.claim.job_id)
        report(what)

    monkeypatch.setattr(beating, "report", meets_trouble)
    told = [
        {"claim": wrong, "progress": 101},
        {"claim": locked, "progress": 20},
        {"claim": good, "progress": 30},
        {"claim": late, "progress": 40},
    ]
    answer = box.post("heartbeat", {"reports": told}).json()
    assert answer["orders"] == {"cancel": [good]}
    [first, second, third] = answer["refused"]
    assert (first["claim"], first["code"], "101" in first["message"]) == (wrong, "invalid", True)
    assert (second["claim"], second["code"]) == (locked, "job_locked")
    assert (third["claim"], third["code"]) == (late, "claim_expired")
    assert [reload(job).progress for job in jobs] == [0, 0, 30, 0]


class Timeless:
    """An answer without the time it was given at."""

    def __init__(self, answer: Any) -> None:
        self.status_code, self.content, self._told = answer.status_code, answer.content, answer.json()
        del self._told["server_time"]

    def json(self) -> Any:
        return self._told


def test_claims_that_two_heartbeats_do_not_list_go_back_uncharged(box: Machine):
    job = make_job()
    box.claimed(job)
    for _ in range(2):
        box.post("heartbeat")
    reap_once()
    assert (reload(job).status, reload(job).attempt) == (Status.PENDING, 0)


def test_a_gpu_worker_is_one_after_bare_heartbeats_and_goes_first():
    gpu, cpu = machine("gpu", capabilities={"gpu": True}), machine("cpu")
    job = make_job(accelerator="prefer")
    for _ in range(100):
        assert gpu.post("heartbeat").status_code == 200
    assert gpu.worker.gpu
    told = cpu.claim().json()
    assert (told.get("jobs", []), told["reason"]) == ([], "waiting for a GPU worker")
    assert gpu.claimed(job)


@pytest.mark.parametrize("name", ["metadata", "capabilities"])
def test_what_a_worker_tells_of_itself_has_its_limit(box: Machine, name: str):
    fits, too_much = {"x": "y" * 10_000}, {"x": "y" * 10_241}
    assert box.post("heartbeat", {name: fits}).status_code == 200
    assert error_of(box.post("heartbeat", {name: too_much}), 413)[0] == "too_large"
    assert getattr(box.worker, name)["x"] == fits["x"]
    if name == "capabilities":
        assert error_of(Machine(box.worker_id, box.key).start(capabilities=too_much), 413)[0] == "too_large"


# Claims


def test_a_claim_says_why_it_brings_nothing(box: Machine):
    assert box.claim().json() == {"reason": "no job is due", "can_wait": False}
    make_job(queue="media")
    pause("media")
    assert box.claim().json()["reason"] == "queue media is paused"
    make_job(queue="mail", kind="test.other", allow_unknown=True)
    assert box.claim().json()["reason"] == NOT_FOR_THIS_WORKER
    drain(box.worker_id)
    assert box.claim().json()["reason"] == "the worker is draining"


def test_a_worker_is_given_only_kinds_it_can_run(box: Machine):
    make_job(kind="test.new", allow_unknown=True, priority=5)
    job = make_job()
    assert box.claimed(job)
    assert box.claim(kinds=["test.new"]).json()["jobs"][0]["kind"] == "test.new"


def test_what_this_server_cannot_complete_is_left_to_one_that_can(box: Machine, monkeypatch: pytest.MonkeyPatch):
    """A hook of a kind that it does not know would be passed by in silence."""
    make_job(kind="test.new", allow_unknown=True, priority=5)
    more = {"completed_there": ["test.new"]}
    told = box.claim(kinds=["test.new"], **more).json()
    assert told == {
        "reason": "this server cannot complete jobs of test.new: it does not know what their completion takes"
    }
    assert box.claim(kinds=["test.new", "test.noop"], **more).json()["reason"] == NOT_FOR_THIS_WORKER
    monkeypatch.setitem(registry._broken, "shop.job_handlers", ImportError("No module named 'torch'"))
    assert "it could not import shop.job_handlers (ImportError: No" in box.claim(kinds=["test.new"]).json()["reason"]
    job = make_job()
    assert box.claim(kinds=["test.new", "test.noop"]).json()["jobs"][0]["claim"]["job_id"] == job.pk


@pytest.fixture
def hooked() -> Iterator[Kind]:
    kind = Kind("test.hooked", lambda context, **payload: None, on_complete=lambda job, result: None)
    registry.add(kind)
    yield kind
    registry.remove(kind.name)


def test_what_it_can_complete_is_given_out(box: Machine, hooked: Kind):
    job = make_job(kind=hooked.name)
    taken = box.claim(kinds=[hooked.name], completed_there=[hooked.name]).json()["jobs"]
    assert [each["claim"]["job_id"] for each in taken] == [job.pk]


def test_a_worker_of_another_version_is_told_and_must_say_what_it_can_run(settings):
    old = machine("old", version="0.0.1")
    job = make_job()
    assert "must say which kinds" in old.claim(kinds=[]).json()["reason"]
    settings.JOBS_WORKER_VERSION = "0.0.10"
    assert "version 0.0.10 or newer is required" in old.claim().json()["reason"]
    assert old.post("heartbeat").json()["required_version"] == "0.0.10"
    old.post("heartbeat", {"version": "0.0.10"})
    assert old.claimed(job)


def test_a_disabled_worker_claims_nothing_hears_of_it_and_hands_back(box: Machine):
    job = make_job()
    claim_id = box.claimed(job)
    disable(box.worker_id)
    make_job()
    assert error_of(box.claim(), 403)[0] == "disabled"
    assert box.post("heartbeat").json()["orders"]["disabled"] is True
    assert box.post(f"{job.pk}/release", {"claim_id": claim_id}).status_code == 200
    assert Machine(box.worker_id, box.key, boot_id=box.boot_id).start().status_code == 200
    assert box.worker.status == WorkerStatus.DISABLED
    enable(box.worker_id)


def test_who_only_sends_a_key_can_work_without_a_process():
    """As a script does."""
    script = machine("script", started=False)
    job = make_job()
    assert script.worker.status == WorkerStatus.OFFLINE
    [taken] = script.post("claim", {"claim_id": NOBODY}).json()["jobs"]
    claim_id = taken["claim"]["claim_id"]
    assert script.post(f"{job.pk}/complete", {"claim_id": claim_id}).status_code == 200
    assert script.worker.status == WorkerStatus.IDLE


# Errors


WRONG: dict[str, list[Any]] = {
    "heartbeat": [{"claims": 5}, {"claims": [{"job_id": "1", "claim_id": NOBODY}]}, {"metadata": []}, [],
                  {"version": 1}, {"version": "v" * 51}, {"reports": [{}]},
                  {"claims": [{"job_id": 1, "claim_id": "x"}]}],
    "claim": [{}, {"claim_id": "x"}, {"claim_id": NOBODY, "limit": 0}, {"claim_id": NOBODY, "limit": 1001},
              {"claim_id": NOBODY, "queues": ["\x00"]}, {"claim_id": NOBODY, "kinds": ["\x00"]},
              {"claim_id": NOBODY, "kinds": ["\ud800"]}, {"claim_id": NOBODY, "wait": "x"},
              {"claim_id": NOBODY, "isolated_limit": -1}, {"claim_id": NOBODY, "queues": ["a"] * 1001}],
    "start": [{}, {"process": "x"}, {"process": NOBODY, "slots": 0}, {"process": NOBODY, "pid": -1},
              {"process": NOBODY, "hostname": "h" * 256}, {"process": NOBODY, "queues": [""]},
              {"process": NOBODY, "pid": 2**40}, {"process": NOBODY, "boot_id": "\x00"}],
    "finish": [{}, {"outcomes": [{}]}, {"outcomes": [{"claim": {"job_id": 1, "claim_id": NOBODY}, "verdict": "x"}]}],
    "workdirs": [{"jobs": ["x"]}, {}, []],
    "1/release": [[], {"claim_id": 5}, {"reason": 5}],
}  # fmt: skip


@pytest.mark.parametrize("path", WRONG)
def test_what_makes_no_sense_is_refused_in_words(box: Machine, path: str):
    for body in WRONG[path]:
        code, message = error_of(box.post(path, body), 422)
        assert code == "invalid", (body, message)
    assert error_of(box.post(path, "{"), 400)[0] == "malformed"


@pytest.mark.parametrize("value", ["\x00", "\ud800", 10**30, [[]] * 3, {"deep": [[[[[1]]]]]}])
def test_whatever_a_handler_sends_its_outcome_is_recorded(box: Machine, value: Any):
    job = make_job()
    claim_id = box.claimed(job)
    assert box.post(f"{job.pk}/complete", {"claim_id": claim_id, "result": value}).status_code == 200
    assert reload(job).status == Status.COMPLETED


def test_bodies_have_their_size_and_type(box: Machine):
    refused = post_json(Client(), f"{WORKER}/claim", headers=box.headers, CONTENT_LENGTH="9999999")
    assert error_of(refused, 413)[0] == "too_large"
    assert error_of(post_json(Client(), f"{WORKER}/claim", "x", "text/plain", headers=box.headers), 415)[0]
    assert error_of(box.get("claim"), 405)[0] == "method_not_allowed"
    assert error_of(box.get("nothing"), 404)[0] == "not_found"
    job = make_job()
    assert error_of(box.post(f"{job.pk}/progress", {"progress": 5}), 422)[0] == "invalid"
    wrong = {"claim": {"job_id": job.pk + 1, "claim_id": NOBODY}}
    assert error_of(box.post(f"{job.pk}/progress", wrong), 422)[0] == "invalid"


@pytest.mark.parametrize("error", [OperationalError("database is locked"), InterfaceError("connection already closed")])
def test_a_database_that_is_away_is_told_with_the_time_to_wait(box: Machine, error: Exception, monkeypatch):
    def away(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr("jobs.api.worker.beating.beat", away)
    answer = box.post("heartbeat")
    assert (error_of(answer, 503)[0], answer["Retry-After"]) == ("busy", "1")


def test_the_history_tells_who_did_it(box: Machine):
    job = make_job()
    box.post(f"{job.pk}/complete", {"claim_id": box.claimed(job)})
    assert JobEvent.objects.filter(job_id=job.pk, name="completed").get().worker_name == "gpu-box"
    assert Worker.objects.get(pk=box.worker_id).hostname == "far"
