"""Claims that wait: answered when there is work, without a thread or a connection each, and in bounds."""

import asyncio
import json
import queue
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import Q

from jobs.api.worker.asgi import LongPolls
from jobs.api.worker.waiting_room import room
from jobs.lifecycle.worker_keys import revoke
from jobs.models import Job, WorkerKey
from jobs.states import Status
from tests.api.events.listening import PATIENCE, Site, open_site
from tests.api.worker.calls import WORKER, Machine, machine
from tests.factories import make_job, reload

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(transactional_db: None) -> Iterator[Site]:
    made: list[LongPolls] = []

    def wrap(application: Any) -> LongPolls:
        made.append(LongPolls(application))
        return made[0]

    with open_site(wrap=wrap) as site:
        yield site
        room.wake_all()
        assert room.wait_until_idle(PATIENCE), "the room stays open although nobody waits"
        made[0].pulse.close()


class Waiting:
    """A claim under way; `leave` hangs up."""

    def __init__(self, site: Site, box: Machine, **told: Any) -> None:
        self.site, self.messages = site, queue.Queue()  # type: Site, queue.Queue[Any]
        self.claim_id = str(uuid4())
        look = {"claim_id": self.claim_id, "kinds": ["test.noop"], "wait": 20, **told}
        self._body: bytes | None = json.dumps(look).encode()
        self._left = site.call(make_event)
        headers = {
            "host": "testserver",
            "content-type": "application/json",
            "content-length": str(len(self._body)),
            **box.headers,
        }
        scope = {
            "type": "http", "method": "POST", "http_version": "1.1", "scheme": "http", "path": f"{WORKER}/claim",
            "raw_path": f"{WORKER}/claim".encode(), "query_string": b"", "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        self.task = asyncio.run_coroutine_threadsafe(site.application(scope, self._receive, self._send), site.loop)

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.messages.put(message)

    def answer(self) -> tuple[int, Any]:
        self.task.result(PATIENCE)
        start, body = self.messages.get_nowait(), self.messages.get_nowait()
        return start["status"], json.loads(body["body"])

    def leave(self) -> None:
        self.site.loop.call_soon_threadsafe(self._left.set)
        self.task.result(PATIENCE)


async def make_event() -> asyncio.Event:
    return asyncio.Event()


def until_waiting(number: int) -> None:
    for _ in range(int(PATIENCE / 0.02)):
        if room.number == number:
            return
        asyncio.run(asyncio.sleep(0.02))
    raise AssertionError(f"{room.number} claims wait, not {number}")


def test_claims_wait_and_each_job_wakes_one_that_can_run_it(site: Site):
    boxes = [machine(f"box-{n}") for n in range(4)]
    waiting = [Waiting(site, box) for box in boxes]
    until_waiting(4)  # with two threads
    elsewhere = Waiting(site, machine("mail"), queues=["mail"])
    until_waiting(5)
    jobs = [make_job(queue="media") for _ in range(4)]
    taken = [each.answer()[1]["jobs"][0]["claim"]["job_id"] for each in waiting]
    assert sorted(taken) == [job.pk for job in jobs]
    mail = make_job(queue="mail")
    assert elsewhere.answer()[1]["jobs"][0]["claim"]["job_id"] == mail.pk


def test_a_claim_whose_time_is_over_is_answered_with_the_reason(site: Site):
    status, told = Waiting(site, machine(), wait=0.3).answer()
    assert (status, told) == (200, {"reason": "no job is due", "can_wait": True})


def test_who_hangs_up_is_given_nothing(site: Site):
    gone = Waiting(site, machine("gone"))
    until_waiting(1)
    gone.leave()
    until_waiting(0)
    job = make_job()
    assert reload(job).status == Status.PENDING
    assert gone.messages.empty()


def test_a_key_that_is_revoked_while_its_claim_waits_is_refused(site: Site):
    box = machine()
    waiting = Waiting(site, box)
    until_waiting(1)
    revoke(Q(worker=box.worker_id))
    job = make_job()
    status, told = waiting.answer()
    assert (status, told["error"]["code"]) == (401, "key_revoked")
    assert reload(job).status == Status.PENDING
    assert WorkerKey.objects.count() == 1


def test_no_more_wait_than_allowed(site: Site, settings: Any):
    settings.JOBS_CLAIM_WAITERS = 1
    first = Waiting(site, machine("first"))
    until_waiting(1)
    assert Waiting(site, machine("second")).answer()[1]["reason"] == "no job is due"
    first.leave()


def test_a_server_that_stops_answers_at_once(site: Site):
    waiting = Waiting(site, machine())
    until_waiting(1)
    site.application._stopping.is_told = True
    room.wake_all()
    assert waiting.answer()[0] == 200
    assert not Job.objects.exists()
