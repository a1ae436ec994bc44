"""Workflows as handlers and callers use them: jobs that spawn jobs and wait for them, and batches."""

from typing import Any

import pytest

from jobs import Batch, NewJob, Spawn, WaitFor, batch, enqueue
from jobs.exceptions import InvalidInput
from jobs.handlers.base import Outcome
from jobs.handlers.base import Spawn as Order
from jobs.handlers.pipeline import Pipeline
from jobs.handlers.registry import registry
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.retry import requeue, retry
from jobs.lifecycle.spawn import spawn
from jobs.models import Dependency, Job
from jobs.states import Hold, Status
from jobs.testing import drain
from tests.factories import claimed, end, events_of, kept_counts, make_job, make_worker, real_counts, reload

pytestmark = pytest.mark.django_db
in_both = pytest.mark.usefixtures("database")


@pytest.fixture
def tree(kind):
    """A kind that adds up what its children return, without a slot while they run."""
    runs = []

    @kind("t.square", max_attempts=1)
    def square(ctx, number):
        if number < 0:
            raise ValueError("negative")
        return number**2

    @kind("t.sum", max_attempts=1)
    def add_up(ctx, numbers):
        runs.append(ctx.last_checkpoint)
        ctx.checkpoint({"seen": len(runs)})
        children = ctx.spawn_many(Spawn("t.square", {"number": number}, key=f"n{number}") for number in numbers)
        if not all(child.ended for child in children):
            raise WaitFor(children)
        return {child.key: child.result if child.completed else child.error for child in ctx.children()}

    return runs


@in_both
def test_a_job_waits_for_its_children_without_a_slot_and_goes_on_with_its_checkpoint(tree):
    job_id = enqueue("t.sum", {"numbers": [1, 2, 3]}, priority=7, scope="films").job_id
    ran = drain()
    assert [job.kind for job in ran] == ["t.sum", "t.square", "t.square", "t.square", "t.sum"]
    assert (ran[0].status, ran[0].hold, ran[0].waits_for, ran[0].attempt) == ("pending", Hold.WAITING, 3, 0)
    assert {(job.priority, job.scope) for job in ran} == {(7, "films")}, "children take after their parent"
    job = reload(job_id)
    assert job.result == {"n1": 1, "n2": 4, "n3": 9}
    assert job.attempt == 1, "an attempt that waits is not charged"
    assert tree == [None, {"seen": 1}]
    assert events_of(job) == ["enqueued", "claimed", "waiting", "claimed", "completed"]
    assert kept_counts() == real_counts()


def test_a_child_that_fails_is_seen_by_its_parent(tree):
    enqueue("t.sum", {"numbers": [2, -1]})
    *_, job = drain(raise_errors=False)
    assert job.result == {"n2": 4, "n-1": "ValueError: negative"}


def test_the_same_key_is_the_same_child_in_every_attempt():
    ref = claimed()
    [first] = spawn(ref, [Order("test.noop", {"n": 1}, "a")])
    again = spawn(ref, [Order("test.noop", {"n": 2}, "a"), Order("test.noop", {"n": 2}), Order("test.noop", {"n": 2})])
    assert [child.id for child in again] == [first.id, again[1].id]
    assert Job.objects.get(pk=first.id).payload == {"n": 1}


def test_a_retry_spawns_anew_what_did_not_complete_and_a_requeue_everything(kind):
    good: list[bool] = []

    @kind("t.parent", max_attempts=1)
    def parent(ctx):
        children = [ctx.spawn("test.noop", key="a"), ctx.spawn("t.child", key="b")]
        if not all(child.ended for child in children):
            return WaitFor()
        if not all(child.completed for child in children):
            raise RuntimeError("a child failed")
        return [child.id for child in children]

    @kind("t.child", max_attempts=1)
    def child(ctx):
        if not good:
            raise RuntimeError("not yet")

    job_id = enqueue("t.parent").job_id
    drain(raise_errors=False)
    assert reload(job_id).status == Status.FAILED
    before = dict(Dependency.objects.values_list("key", "needs_id"))
    good.append(True)
    retry(job_id)
    drain()
    after: Any = reload(job_id).result
    assert after[0] == before["a"]
    assert after[1] > before["b"]
    requeue(job_id)
    drain()
    again: Any = reload(job_id).result
    assert not set(again) & set(after)


def test_a_phase_may_wait():
    pipe = Pipeline("t.pipe")
    try:

        @pipe.phase("split")
        def split(ctx):
            return [ctx.spawn("test.noop", {"n": number}).id for number in range(2)]

        @pipe.phase("join")
        def join(ctx):
            if not all(child.ended for child in ctx.children()):
                return WaitFor(ctx.children())
            return len(ctx.phase_result("split"))

        job_id = pipe.enqueue().job_id
        drain()
    finally:
        registry.remove("t.pipe")
    assert (reload(job_id).status, reload(job_id).result) == (Status.COMPLETED, 2)


@pytest.mark.parametrize("waits_for", [None, (10**6,)])
def test_to_wait_for_nothing_or_for_strangers_fails_at_once(waits_for):
    job = make_job(max_attempts=3)
    end(job, Outcome.waiting, waits_for=waits_for)
    assert reload(job).status == Status.FAILED
    assert "WaitFor" in reload(job).last_error


def test_to_wait_for_a_stranger_beside_a_child_fails_too():
    ref = claimed()
    [child] = spawn(ref, [Order("test.noop", {}, "a", {"queue": "q"})])
    assert end_of(ref, (child.id, make_job(queue="r").pk)).status == Status.FAILED


def test_to_wait_again_for_what_had_ended_fails_instead_of_going_round_for_ever():
    parent = make_job()
    ref = claimed(job=parent)
    [child] = spawn(ref, [Order("test.noop", {"n": 1}, "a", {"queue": "q"})])
    end(reload(child.id))
    assert end_of(ref, None).hold == Hold.NONE, "it ended in this attempt, and may not have been seen"
    assert end(parent, Outcome.waiting, waits_for=None).status == Status.FAILED


def end_of(ref, waits_for):
    finish_one(Outcome.waiting(ref, waits_for))
    return reload(ref)


def test_it_waits_only_for_those_it_names():
    ref = claimed()
    one, other = spawn(ref, [Order("test.noop", {"n": n}, str(n), {"queue": f"q{n}"}) for n in range(2)])
    assert end_of(ref, (one.id,)).waits_for == 1
    end(reload(one.id))
    assert reload(ref).hold == Hold.NONE
    assert reload(other.id).status == Status.PENDING


def test_a_job_that_is_cancelled_takes_its_children_along():
    ref = claimed()
    [child] = spawn(ref, [Order("test.noop", {}, "a", {"queue": "q"})])
    grandchild = spawn(claimed(make_worker("w"), reload(child.id)), [Order("test.noop", {}, "b", {"queue": "r"})])[0]
    assert end_of(ref, None).hold == Hold.WAITING
    cancel(ref.job_id)
    assert reload(child.id).cancel_requested_at
    assert [reload(each).status for each in (ref, grandchild.id)] == [Status.CANCELLED] * 2
    cancel(make_job().pk)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (Order("test.noop", {}, ""), "key of a spawned job is empty"),
        (Order("test.noop", {}, "x" * 201), "at most 200"),
        (Order("test.noop", {}, "a", {"unique": "active"}), "takes no dedupe_key"),
        (Order("test.noop", {}, "a", {"colour": 1}), "A job has no option 'colour'"),
        (Order("test.nope", {}, "a"), "No handler is registered"),
        (Order("test.noop", {1}), "payload"),
    ],
)
def test_what_cannot_be_spawned_is_refused(order, words):
    ref = claimed()
    with pytest.raises(InvalidInput, match=words):
        spawn(ref, [Order("test.noop", {}, "good"), order])
    assert Job.objects.count() == 1


def test_a_child_waits_for_siblings_only_so_that_nobody_waits_in_a_circle():
    ref = claimed()
    [first] = spawn(ref, [Order("test.noop", {}, "a")])
    with pytest.raises(InvalidInput, match="spawned by the same job"):
        spawn(ref, [Order("test.noop", {}, "b", {"after": [ref.job_id]})])
    spawn(ref, [Order("test.noop", {}, "b", {"after": [first.id]})])
    assert Job.objects.waiting().get().waits_for == 1


@in_both
def test_a_batch_has_progress_and_a_job_at_its_end(kind):
    @kind("t.page")
    def page(ctx, number): ...

    seen = []

    @kind("t.bound")
    def bound(ctx, title):
        seen.append(Batch(ctx.job_id).progress().completed)

    book = batch(
        (NewJob("t.page", {"number": n}) for n in range(4)), NewJob("t.bound", {"title": "x"}), subject="a book"
    )
    assert reload(book.job_id).subject == "a book"
    drain(max_jobs=1)
    progress = book.progress()
    assert (progress.total, progress.completed, progress.pending, progress.percent) == (4, 1, 3, 25)
    drain()
    assert seen == [4]
    clear([job.pk for job in Job.objects.filter(kind="t.page")])
    assert (book.progress().completed, book.progress().percent) == (4, 100)


def test_progress_counts_how_far_running_members_are():
    made = batch([NewJob("test.noop"), NewJob("test.noop", queue="q")])
    ref = claimed(job=Job.objects.get(queue="q"))
    Job.objects.filter(pk=ref.job_id).update(progress=50)
    assert (made.progress().running, made.progress().pending, made.progress().percent) == (1, 1, 25)


@pytest.mark.parametrize(("when", "status"), [("completed", Status.CANCELLED), ("ended", Status.PENDING)])
def test_a_batch_of_which_one_failed(when, status):
    made = batch([NewJob("test.noop"), NewJob("test.noop", queue="q")], when=when)
    end(Job.objects.get(queue="q"), Outcome.failed, error="x", fatal=True)
    assert reload(made.job_id).status == status
    end(Job.objects.filter(queue="default").earliest("pk"))
    assert (made.progress().failed, made.progress().completed, made.progress().percent) == (1, 1, 100)
    if when == "ended":
        assert [job.status for job in drain()] == ["completed"]


def test_an_empty_batch_ends_at_once_and_one_of_duplicates_waits_for_those_it_met():
    assert drain() == []
    assert batch([]).progress().percent == 100
    assert [job.kind for job in drain()] == ["jobs.batch"]
    met = make_job(dedupe_key="k")
    made = batch([NewJob("test.noop", dedupe_key="k")])
    assert Dependency.objects.get(job=made.job_id).needs_id == met.pk


@pytest.mark.parametrize(
    ("options", "words"),
    [({"when": "never"}, "'completed' or 'ended'"), ({"then": NewJob("test.noop", dedupe_key="k")}, "no dedupe key")],
)
def test_a_batch_that_cannot_be_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        batch([NewJob("test.noop")], **options)
    assert not Job.objects.exists()
