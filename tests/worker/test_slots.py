"""Slots: an attempt is interrupted wherever it is, by signal, exception or cancelled task, and nobody else is."""

import asyncio
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue

import pytest

from jobs.handlers.calling import run_function
from jobs.worker.attempt import Attempt, Interrupted
from jobs.worker.slots import INTERRUPT, MainSlot, Slot, ThreadSlot
from tests.concurrency.threads import wait_until
from tests.handlers.programs import Running
from tests.handlers.reporter import a_claimed_job

LONG, SOON = 30.0, 20.0  # nobody waits so long: whoever does was not interrupted
Handler = Callable[[], object]


class Bench:
    """A slot, the handlers of its attempts, and what became of them."""

    def __init__(self, slot_class: type[Slot]) -> None:
        self.inbox: SimpleQueue[Attempt | None] = SimpleQueue()
        self.slot = slot_class(self.inbox, self.work)
        self.handlers: dict[Attempt, Handler] = {}
        self.results: dict[Attempt, object] = {}
        self.begun = threading.Event()

    def work(self, attempt: Attempt, slot: Slot) -> None:
        def handle() -> object:
            self.begun.set()
            return self.handlers[attempt]()

        self.results[attempt] = slot.run(attempt, handle, lambda error: type(error))

    def add(self, handler: Handler) -> Attempt:
        attempt = Attempt(a_claimed_job())
        self.handlers[attempt] = handler
        self.inbox.put(attempt)
        return attempt

    def run(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Run all attempts; `meanwhile` is what the thread that reads orders does."""

        def give_orders() -> None:
            try:
                meanwhile()
            finally:
                self.inbox.put(None)

        began = time.monotonic()
        self.slot.start()
        orders = Running(give_orders)
        if isinstance(self.slot, ThreadSlot):
            self.slot.thread.join(LONG)
        else:
            self.slot.loop()
        assert time.monotonic() - began < SOON, "it was not interrupted"
        error = orders.ended().error
        if error:
            raise error

    def interrupt(self, attempt: Attempt) -> None:
        """Once it has begun, and until it has ended, as a child's thread that reads orders does."""
        assert self.begun.wait(20)
        self.slot.interrupt(attempt)
        while isinstance(self.slot, MainSlot) and attempt not in self.results:
            time.sleep(0.01)
            self.slot.insist()


@pytest.fixture(params=[MainSlot, ThreadSlot])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    before = signal.getsignal(INTERRUPT)
    yield Bench(request.param)
    signal.signal(INTERRUPT, before)


def python_code() -> None:
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        time.sleep(0.001)


async def coroutine() -> None:
    await asyncio.sleep(LONG)


def fine() -> str:
    return "done"


def test_attempts_run_one_after_the_other_until_the_end_of_the_inbox(bench: Bench):
    attempts = [bench.add(lambda number=number: number) for number in range(3)]  # type: ignore[misc]
    bench.run()
    assert bench.results == {attempts[0]: 0, attempts[1]: 1, attempts[2]: 2}


def test_a_handler_is_interrupted_and_the_next_one_is_not(bench: Bench):
    stopped, following = bench.add(python_code), bench.add(fine)
    bench.run(lambda: bench.interrupt(stopped))
    assert bench.results == {stopped: Interrupted, following: "done"}


def test_a_coroutine_is_cancelled_and_the_next_handler_is_not_touched(bench: Bench):
    stopped = bench.add(lambda: run_function(bench.slot.on_task, coroutine))
    following = bench.add(fine)

    def cancel() -> None:
        wait_until(lambda: bench.slot.cancel_task is not None)
        bench.interrupt(stopped)

    bench.run(cancel)
    assert bench.results == {stopped: asyncio.CancelledError, following: "done"}


def test_a_coroutine_may_tidy_up_when_it_is_cancelled(bench: Bench):
    tidied: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            await asyncio.sleep(0)
            tidied.append("tidied")

    stopped = bench.add(lambda: run_function(bench.slot.on_task, tidy))

    def cancel() -> None:
        wait_until(lambda: bench.slot.cancel_task is not None)
        bench.interrupt(stopped)

    bench.run(cancel)
    assert (bench.results[stopped], tidied) == (asyncio.CancelledError, ["tidied"])


def test_plain_code_after_a_coroutine_is_interrupted_as_plain_code(bench: Bench):
    both = threading.Event()

    async def short() -> None:
        await asyncio.sleep(0)

    def first_async_then_plain() -> None:
        run_function(bench.slot.on_task, short)
        both.set()
        python_code()

    stopped = bench.add(first_async_then_plain)

    def interrupt() -> None:
        assert both.wait(20)
        bench.interrupt(stopped)

    bench.run(interrupt)
    assert bench.results == {stopped: Interrupted}


def waits_in_c() -> dict[str, Handler]:
    never = threading.Lock()
    never.acquire()
    return {
        "sleep": lambda: time.sleep(LONG),
        "lock": lambda: never.acquire(timeout=LONG),
        "queue": lambda: SimpleQueue[None]().get(timeout=LONG),
        "select": lambda: select.select([], [], [], LONG),
    }


@pytest.mark.parametrize("handler", waits_in_c().values(), ids=waits_in_c())
@pytest.mark.parametrize("bench", [MainSlot], indirect=True)
def test_a_signal_ends_waits_inside_of_c(bench: Bench, handler: Handler):
    stopped, following = bench.add(handler), bench.add(fine)
    bench.run(lambda: bench.interrupt(stopped))
    assert bench.results == {stopped: Interrupted, following: "done"}


def test_who_is_not_at_work_is_not_interrupted(bench: Bench):
    """Neither one that waits in the inbox, nor one that has ended while the next is at work."""
    gates = [threading.Event(), threading.Event()]
    ended = bench.add(fine)
    at_work = bench.add(lambda: gates[0].set() or gates[1].wait(20))  # type: ignore[func-returns-value]
    waiting = bench.add(fine)

    def interrupt_the_others() -> None:
        assert gates[0].wait(20)
        bench.slot.interrupt(ended)
        bench.slot.interrupt(waiting)
        bench.slot.interrupt(Attempt(a_claimed_job()))
        gates[1].set()

    bench.run(interrupt_the_others)
    assert bench.results == {ended: "done", at_work: True, waiting: "done"}


def test_an_interruption_that_comes_when_the_handler_has_just_ended_costs_nobody_anything(bench: Bench):
    threads: list[int] = []
    may_end = threading.Event()

    def handle() -> str:
        threads.append(threading.get_ident())
        assert may_end.wait(20)
        return "done"

    late, following = bench.add(handle), bench.add(fine)

    def interrupt_late() -> None:
        """As `interrupt` does, but the handler ends while it is about to."""
        wait_until(lambda: bool(threads))
        with bench.slot._lock:
            may_end.set()
            wait_until(lambda: sys._current_frames()[threads[0]].f_code is Slot.attach.__code__)
            assert bench.slot.current is late
            bench.slot._raise_in_handler()

    bench.run(interrupt_late)
    assert bench.results == {late: "done", following: "done"}


@pytest.mark.parametrize("bench", [MainSlot], indirect=True)
def test_a_signal_that_came_too_early_to_end_a_wait_is_sent_again(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    sent: list[int] = []
    send = signal.pthread_kill

    def lose_the_first(thread: int, number: int) -> None:
        sent.append(number)
        if len(sent) > 1:
            send(thread, number)

    monkeypatch.setattr("jobs.worker.slots.signal.pthread_kill", lose_the_first)
    stopped, following = bench.add(lambda: time.sleep(LONG)), bench.add(fine)
    bench.run(lambda: bench.interrupt(stopped))
    assert bench.results == {stopped: Interrupted, following: "done"}


@pytest.mark.parametrize("bench", [MainSlot], indirect=True)
def test_a_signal_that_was_held_up_hits_nobody_else(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []
    monkeypatch.setattr("jobs.worker.slots.signal.pthread_kill", lambda thread, number: asked.append(number))

    def interrupted_by_a_signal_on_its_way() -> str:
        bench.slot.interrupt(first)
        return "done"

    def hit_by_the_signal() -> str:
        signal.raise_signal(asked[0])
        return "done"

    first, following = bench.add(interrupted_by_a_signal_on_its_way), bench.add(hit_by_the_signal)
    bench.run()
    assert bench.results == {first: "done", following: "done"}


def test_a_cancellation_that_comes_when_the_coroutine_has_ended_hits_nobody_else(bench: Bench):
    cancels: list[Callable[[], None]] = []

    async def short() -> str:
        assert bench.slot.cancel_task
        cancels.append(bench.slot.cancel_task)
        return "done"

    def cancel_the_first() -> object:
        cancels[0]()
        return run_function(bench.slot.on_task, short)

    ended, following = bench.add(lambda: run_function(bench.slot.on_task, short)), bench.add(cancel_the_first)
    bench.run()
    assert bench.results == {ended: "done", following: "done"}


def test_what_goes_wrong_around_an_attempt_does_not_end_the_slot(caplog: pytest.LogCaptureFixture):
    inbox: SimpleQueue[Attempt | None] = SimpleQueue()
    worked: list[Attempt] = []

    def work(attempt: Attempt, slot: Slot) -> None:
        worked.append(attempt)
        raise [OSError("disk full"), Interrupted()][len(worked) - 1]

    for item in (Attempt(a_claimed_job()), Attempt(a_claimed_job()), None):
        inbox.put(item)
    slot = ThreadSlot(inbox, work)
    slot.start()
    slot.thread.join(20)
    assert len(worked) == 2
    assert "disk full" in caplog.text
