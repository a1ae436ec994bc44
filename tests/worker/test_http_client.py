"""The queue client over HTTP: what it asks of a server, and what it makes of servers that are old, odd or forgetful."""

import threading
from collections.abc import Iterator
from contextlib import closing
from uuid import UUID, uuid4

import pytest

from jobs.bearer import new_secret
from jobs.exceptions import ClaimLost
from jobs.handlers.base import Answer, ClaimRef, Outcome, Report
from jobs.states import Status, Verdict
from jobs.wire.messages import ClaimOrder
from jobs.wire.names import Code
from jobs.worker.http_client import HttpClient
from jobs.worker.http_listener import HttpListener
from jobs.worker.http_server import Server
from jobs.worker.queue_client import QueueRefuses, QueueUnavailable
from tests.worker.odd_server import OddServer, Request, Told, error, odd_server

STARTED = {
    "worker_id": str(UUID(int=1)), "name": "box", "server_time": "2026-05-01T12:00:00+00:00", "server_version": "0.1.0",
    "heartbeat_interval": 7, "longest_wait": 25,
}  # fmt: skip
CLAIM = ClaimRef(7, UUID(int=7))


class Site(OddServer):
    """Answers each call as it is told to; `start` as a server of ours does."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, list[Told]] = {}
        self.answer = self.of_call

    def of_call(self, request: Request) -> Told:
        call = request.path.removeprefix("/api/worker/")
        told = self.answers.get(call) or [Told(STARTED) if call == "start" else Told({})]
        return told.pop(0) if len(told) > 1 else told[0]

    def calls(self) -> list[str]:
        return [request.path.removeprefix("/api/worker/") for request in self.requests]


@pytest.fixture
def site() -> Iterator[Site]:
    with odd_server(Site()) as site:
        yield site


@pytest.fixture
def client(site: Site) -> Iterator[HttpClient]:
    client = HttpClient(Server(site.url, new_secret("worker").text), ["media"], slots=2, capabilities={"gpu": False})
    with closing(client.connection):
        client.register()
        yield client


def order() -> ClaimOrder:
    return ClaimOrder(uuid4(), ["media"], 3)


def test_it_starts_with_what_it_is_and_learns_who_it_is(site: Site, client: HttpClient):
    told = site.requests[0].json
    assert (told["queues"], told["slots"], told["capabilities"]) == (["media"], 2, {"gpu": False})
    assert told["process"] == site.requests[0].headers["X-Worker-Process"]
    assert client.heartbeat_interval == 7


def test_a_look_names_the_kinds_that_it_can_run_and_brings_when_the_next_is_due(site: Site, client: HttpClient):
    site.answers["claim"] = [Told({"jobs": [], "next_due_in": 2.5})]
    assert client.claim(order()) == []
    assert client.next_due_in() == 2.5
    told = site.requests[-1].json
    assert "test.noop" in told["kinds"]
    assert "transcode.hls" in told["completed_there"]
    assert "test.noop" not in told["completed_there"]


def test_a_disabled_worker_finds_nothing(site: Site, client: HttpClient):
    site.answers["claim"] = [error(403, Code.DISABLED)]
    assert client.claim(order()) == []


def test_a_job_that_is_not_there_is_a_claim_that_is_lost(site: Site, client: HttpClient):
    site.answers["7/progress"] = [error(404, Code.NOT_FOUND)]
    with pytest.raises(ClaimLost):
        client.report(Report(CLAIM, progress=5))


def test_a_server_that_forgot_this_process_is_told_again_and_asked_again(site: Site, client: HttpClient):
    site.answers["heartbeat"] = [error(409, Code.NOT_STARTED), Told({"orders": {"drain": True}})]
    assert client.heartbeat([CLAIM]).drain
    assert site.calls() == ["start", "heartbeat", "start", "heartbeat"]


def test_who_has_signed_off_does_not_start_again(site: Site, client: HttpClient):
    client.sign_off()
    site.answers["heartbeat"] = [error(409, Code.NOT_STARTED)]
    with pytest.raises(QueueUnavailable):
        client.heartbeat([])
    assert site.calls() == ["start", "stop", "heartbeat"]


def test_outcomes_that_are_too_much_for_one_call_go_in_several(site: Site, client: HttpClient):
    def finish(request: Request) -> Told:
        outcomes = request.json["outcomes"]
        if len(outcomes) > 1 or (outcomes[0]["verdict"] == Verdict.COMPLETED and outcomes[0]["claim"]["job_id"] == 2):
            return error(413, Code.TOO_LARGE, "The body is too large.")
        return Told({"answers": [{"claim": outcomes[0]["claim"], "status": "completed"}]})

    site.answer = finish
    claims = [ClaimRef(number, UUID(int=number)) for number in (1, 2, 3)]
    assert client.finish([Outcome.completed(claim) for claim in claims]) == [
        Answer(claim, Status.COMPLETED) for claim in claims
    ]
    failed = [each for request in site.requests[1:] for each in request.json["outcomes"] if each["verdict"] == "failed"]
    assert [(each["claim"]["job_id"], "too large" in each["error"]) for each in failed] == [(2, True)]


def test_hints_are_waited_for_as_long_as_the_server_lets_us(site: Site, client: HttpClient):
    site.answers["listen"] = [Told({"queues": ["media"]})]
    listening = client.listening()
    assert listening is not None
    with listening as listener:
        assert list(listener.wait(1.0)) == ["media"]
        assert not listener.wait(0.0)
    assert site.calls() == ["start", "listen"]
    assert site.requests[-1].json["queues"] == ["media"]
    assert 5 < site.requests[-1].json["wait"] <= 25


def test_a_server_where_nobody_can_wait_is_polled(site: Site, client: HttpClient):
    site.answers["start"] = [Told({**STARTED, "longest_wait": 0})]
    client.register()
    assert client.listening() is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Told({**STARTED, "server_version": "0.0.9"}), "The server is too old: it is version 0.0.9"),
        (Told({"hello": 1}), "The server (version unknown) does not speak as this worker"),
        (error(404, Code.NOT_FOUND), "urls.py includes jobs.api.urls"),
    ],
)
def test_a_server_that_cannot_be_worked_for_is_refused_in_clear_words(site: Site, answer: Told, words: str):
    site.answers["start"] = [answer]
    client = HttpClient(Server(site.url, new_secret("worker").text))
    with closing(client.connection), pytest.raises(QueueRefuses) as refused:
        client.register()
    assert words in str(refused.value)


def test_a_server_says_its_version_as_short_as_it_likes(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jobs.worker.http_client.OLDEST_SERVER", "0.2.0")
    site.answers["start"] = [Told({**STARTED, "server_version": "0.2"})]
    client = HttpClient(Server(site.url, new_secret("worker").text))
    with closing(client.connection):
        assert client.register() == "box"


def test_a_worker_that_is_too_old_is_told_so_once(site: Site, client: HttpClient, caplog: pytest.LogCaptureFixture):
    site.answers["heartbeat"] = [Told({"orders": {}, "required_version": "99.1"})]
    for _ in range(3):
        client.heartbeat([])
    assert [record.getMessage() for record in caplog.records if "too old" in record.getMessage()] == [
        "this worker is too old and gets no jobs: it is version 0.1.0, and the server asks for 99.1"
    ]


def test_what_the_servers_side_does_is_nothing_to_it(site: Site, client: HttpClient):
    client.reap()
    client.reap_in_turn()
    client.send_alerts_in_turn()
    client.prune_in_turn(lambda: True)
    client.record_deliveries([])
    assert (client.tick().enqueued, client.next_delivery_in(), client.take_deliveries(1, lambda host: 1)) == (
        0,
        None,
        (),
    )
    assert not client.wants_alerts()
    assert site.calls() == ["start"]


def test_who_is_answered_at_once_and_claims_nothing_asks_less_often(monkeypatch: pytest.MonkeyPatch):
    rests: list[float] = []
    monkeypatch.setattr("jobs.worker.http_listener.time.sleep", rests.append)
    answers = [["a"]] * 6 + [[]] * 2

    def ask() -> list[str]:
        if not answers:
            threading.Event().wait(0.3)
        return answers.pop(0) if answers else []

    claimed = iter([0] * 6 + [3] * 4)
    listener = HttpListener(ask, lambda: next(claimed))
    for _ in range(10):
        listener.wait(1.0)
    assert rests == [0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 0.05, 0.1, 0]
