"""The load run: no error of those who claim or look on passes unnoticed."""

import asyncio
import io
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmarks import claimers, visitors
from benchmarks.load_report import findings
from benchmarks.load_seen import Look, Seen
from benchmarks.visitors import Following, Visitors

SNAPSHOT = b'event: snapshot\ndata: {"now": 1}\n\nid: 812\n\n'
OLD, STOPPING = (b'event: end\ndata: {"reason": "%s"}\n\n' % reason for reason in (b"old", b"stopping"))


@dataclass
class Scripted:
    """A server that answers with these, each a status and a body, and hangs up; it is silent once there are none."""

    answers: Iterator[tuple[int, bytes]]
    asked: list[str] = field(default_factory=list)
    port: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode())
        if given := next(self.answers, None):
            writer.write(b"HTTP/1.1 %d x\r\n\r\n%s" % given)
            await writer.drain()
        else:
            await reader.read()  # until the other side has gone
        writer.close()


def asked(act: Callable[[Visitors], Awaitable[object]], *answers: tuple[int, bytes]) -> tuple[Visitors, list[str]]:
    """What becomes of visitors who do this, and which addresses they asked for."""
    scripted = Scripted(iter(answers))

    async def play() -> Visitors:
        async with await asyncio.start_server(scripted.answer, "127.0.0.1", 0) as server:
            scripted.port = server.sockets[0].getsockname()[1]
            these = Visitors(scripted, "cookie", 1)  # type: ignore[arg-type]  # all that is asked of it is its port
            await act(these)
            return these

    return asyncio.run(play()), scripted.asked


def reading(streams: int) -> Callable[[Visitors], Awaitable[object]]:
    """As a reader does until so many streams have ended."""

    async def read(these: Visitors) -> None:
        task = asyncio.create_task(these.read(Following()))
        async with asyncio.timeout(60):
            while len(these.failures) + sum(map(these.ended.__getitem__, visitors.IN_ORDER)) < streams:
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])

    return read


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitors, "COMES_BACK", 0.0)


def test_a_reader_whose_stream_ends_by_design_comes_back_with_its_position():
    these, addresses = asked(reading(2), (200, SNAPSHOT + OLD), (200, SNAPSHOT + OLD))
    assert (these.failures, these.ended["old"], these.frames) == ([], 2, 4)
    assert addresses[:2] == ["/api/events/jobs", "/api/events/jobs?after=812"]


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ((401, b""), "refused with 401"),
        ((503, b""), "refused with 503"),
        ((200, SNAPSHOT), "without a word"),
        ((200, SNAPSHOT + STOPPING), "stopping"),
    ],
)
def test_a_reader_that_is_refused_or_loses_its_stream_is_a_failure(answer: tuple[int, bytes], failure: str):
    these, _ = asked(reading(1), answer)
    assert [failure in each for each in these.failures] == [True]


def test_a_reader_that_is_told_nothing_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "SILENCE", 0.05)

    these, _ = asked(reading(1))
    assert "TimeoutError" in these.failures[0]


@pytest.mark.parametrize("answer", [(500, b""), (403, b"")])
def test_a_click_that_is_refused_is_a_failure_and_no_visit(answer: tuple[int, bytes]):
    these, _ = asked(lambda these: these.visited("/admin/"), answer)
    assert these.failures == [f"/admin/: {answer[0]}"]


def test_a_click_that_breaks_off_is_a_failure_and_does_not_end_the_visitors():
    async def click_where_nobody_listens(these: Visitors) -> None:
        these.server.port = 1
        assert not await these.visited("/admin/")

    these, _ = asked(click_where_nobody_listens)
    assert len(these.failures) == 1


def test_visitors_who_end_early_are_a_failure_and_nobody_waits_for_them():
    these = Visitors(None, "cookie", 1)  # type: ignore[arg-type]  # no server at all
    these.start()
    with pytest.raises(TimeoutError):
        these.wait_until_ready(0.01)
    these.stop()
    assert "gone" in these.failures[0]


def test_an_error_of_one_thread_stops_the_claimers_and_is_theirs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(claimers, "stop", threading.Event())

    def work(number: int, file: Any) -> None:
        if number == 11:
            raise AssertionError("an outcome was refused")
        assert claimers.stop.wait(60)

    monkeypatch.setattr(claimers, "work", work)
    with pytest.raises(AssertionError, match="an outcome was refused"):
        claimers.work_all(10, 3, io.StringIO())


def seen_of(done: int) -> Seen:
    memory = {"claimers": 100.0, "web": 90.0, "reaper": 50.0}
    return Seen(0.0, [Look(5.0, memory, 0, 50)], {"before": [("jobs_job", 1, 1, 0)]}, done)


CLAIMS = [(1.0, 0.001, 1), (2.0, 0.5, 0), (9.0, 0.003, 2)]


def test_the_report_tells_of_all_memory_and_of_claims_that_found_nothing():
    found = findings(seen_of(3), CLAIMS, Visitors(None, "", 0), 3)  # type: ignore[arg-type]
    text = "\n".join(found.lines)
    assert "memory of the claimers | memory of the web | memory of the reaper" in text
    assert "2 claims" in text
    assert "1 more claims found nothing, p99 500 ms" in text
    assert found.figures[-1].met


def test_the_report_fails_where_a_job_was_not_done_or_a_visitor_was_refused():
    these = Visitors(None, "", 0, failures=["/admin/: 500"])  # type: ignore[arg-type]
    found = findings(seen_of(2), CLAIMS, these, 3)
    assert found.samples["failures"] == ["2 of 3 jobs were completed by their first attempt", "/admin/: 500"]
    assert found.figures[-1].met is False
