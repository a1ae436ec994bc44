"""What operators do with jobs: on a selection and on all that match, asked first, told afterwards, noted by name."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.admin.models import DELETION, LogEntry
from django.test import Client
from django.urls import reverse

from jobs.admin import job_order, job_told
from jobs.admin.job_actions import ACTIONS, do_cancel
from jobs.models import Job
from jobs.selectors.clock import database_now
from jobs.states import Hold, Status
from tests.admin.visits import act, act_on_all, last_reason, logged, send, told_by
from tests.factories import claimed, job_in, make_job, reload

pytestmark = pytest.mark.django_db


def test_retry_takes_failed_jobs_and_tells_which_it_left_alone(operator: Client):
    failed, completed = job_in(Status.FAILED), job_in(Status.COMPLETED)
    assert act(operator, "retry", failed, completed) == [
        "1 job retried.", f"1 job left alone, because it is not failed or cancelled: {completed.pk}.",
    ]  # fmt: skip
    assert (reload(failed).status, reload(completed).status) == (Status.PENDING, Status.COMPLETED)
    assert last_reason(failed) == "retried by anna"
    assert logged() == [("anna", f"job {failed.pk}", "Retried.")]


def test_a_duplicate_is_left_alone_and_holds_up_no_other(operator: Client):
    twin, other = job_in(Status.FAILED, dedupe_key="k"), job_in(Status.FAILED)
    make_job(dedupe_key="k")
    told = act(operator, "retry", twin, other)
    assert told[0] == "1 job retried."
    assert told[1].startswith("1 job left alone, because a job with the same dedupe key is pending or running")


def test_requeue_takes_completed_jobs_too(operator: Client):
    completed, cancelled, pending = (job_in(s) for s in (Status.COMPLETED, Status.CANCELLED, Status.PENDING))
    told = act(operator, "requeue", completed, cancelled, pending)
    assert told == ["2 jobs requeued.", f"1 job left alone, because it has not ended, or is gone: {pending.pk}."]
    assert last_reason(completed) == "requeued from the start by anna"


def test_cancel_ends_pending_jobs_and_asks_running_ones_to_stop(operator: Client):
    running = reload(claimed())
    pending = make_job()
    assert act(operator, "cancel", pending, running) == ["1 job cancelled.", "1 job asked to stop."]
    assert (last_reason(pending), last_reason(running)) == ("by anna", "by anna")
    assert logged() == [("anna", f"job {pending.pk}", "Cancelled."), ("anna", f"job {running.pk}", "Asked to stop.")]
    again = act(operator, "cancel", running)
    assert again == [f"1 job left alone, because it has ended, or was asked to stop before: {running.pk}."]


def test_clear_deletes_ended_jobs_only(operator: Client):
    failed, pending = job_in(Status.FAILED), make_job()
    told = act(operator, "clear", failed, pending)
    assert told[0] == "1 job cleared."
    assert told[1].startswith("1 job left alone, because it has not ended")
    assert list(Job.objects.all()) == [pending]
    assert LogEntry.objects.get().action_flag == DELETION


@pytest.mark.parametrize(("action", "priority"), [("front", 100), ("back", -100)])
def test_waiting_jobs_go_to_the_front_or_the_back(operator: Client, action, priority):
    waiting, ended = make_job(), job_in(Status.COMPLETED, queue="q")
    told = act(operator, action, waiting, ended)
    assert told == [f"1 job given priority {priority}.", f"1 job left alone, because it is not pending: {ended.pk}."]
    assert reload(waiting).priority == priority
    assert last_reason(waiting) == f"from 0 to {priority}, by anna"


def test_a_priority_is_asked_for_and_checked(operator: Client):
    job = make_job()
    asked = send(operator, "job", action="priority", _selected_action=job.pk).content.decode()
    assert 'name="priority"' in asked
    for wrong in ("101", "x", "", "1.5"):
        answer = send(operator, "job", action="priority", _selected_action=job.pk, confirmed=1, priority=wrong)
        assert "is not a whole number" in answer.content.decode()
    assert act(operator, "priority", job, priority="-7") == ["1 job given priority -7."]
    assert reload(job).priority == -7


def test_a_scheduled_job_runs_now(operator: Client):
    job, due = make_job(run_after=database_now() + timedelta(hours=1)), make_job()
    told = act(operator, "run_now", job, due)
    assert told == [
        "1 job made due now.",
        f"1 job left alone, because it is not scheduled for later, or waits for other jobs: {due.pk}.",
    ]
    assert (reload(job).hold, last_reason(job)) == (Hold.NONE, "by anna")


def test_jobs_move_to_another_queue(operator: Client):
    job = make_job(queue="slow")
    asked = send(operator, "job", action="move", _selected_action=job.pk).content.decode()
    assert '<option value="slow">' in asked
    answer = send(operator, "job", action="move", _selected_action=job.pk, confirmed=1, queue="a b")
    assert "The queue name &#x27;a b&#x27; is not valid" in answer.content.decode()
    assert act(operator, "move", job, queue="Fast") == ["1 job moved to the queue Fast."]
    assert (reload(job).queue, last_reason(job)) == ("Fast", "from slow to Fast, by anna")
    assert logged() == [("anna", f"job {job.pk}", "Moved to the queue Fast.")]


def test_it_is_asked_first_with_the_number_and_what_will_be_left_alone(operator: Client):
    failed, completed = job_in(Status.FAILED), job_in(Status.COMPLETED)
    ids = [failed.pk, completed.pk]
    content = send(operator, "job", action="retry", _selected_action=ids).content.decode()
    assert "Retry: 2 jobs" in content
    assert "that you selected" in content
    assert "<strong>1</strong> is in a state for this" in content
    assert reload(failed).status == Status.FAILED


def test_everything_that_matches_is_done_in_batches(operator: Client, monkeypatch):
    monkeypatch.setattr(job_order, "BATCH", 2)
    mine = [job_in(Status.FAILED, queue="q") for _ in range(5)]
    other = job_in(Status.FAILED, queue="other")
    which = "queue=q&state=failed"
    asked = send(operator, "job", action="retry", across=1, which=which).content.decode()
    assert "Retry: 5 jobs" in asked
    assert "queue <strong>q</strong>" in asked
    assert act_on_all(operator, "retry", which) == ["5 jobs retried."]
    assert {reload(job).status for job in mine} == {Status.PENDING}
    assert reload(other).status == Status.FAILED


def test_what_comes_after_the_question_is_not_touched(operator: Client):
    asked_about, later = make_job(), make_job()
    assert act_on_all(operator, "cancel", "", upto=asked_about.pk) == ["1 job cancelled."]
    assert reload(later).status == Status.PENDING


def test_what_is_left_when_time_is_up_is_asked_about_again(operator: Client, monkeypatch):
    monkeypatch.setattr(job_order, "BATCH", 2)
    monkeypatch.setattr(job_order, "PATIENCE", -1.0)
    jobs = [make_job() for _ in range(5)]
    form = {"action": "cancel", "across": 1, "which": "state=pending", "confirmed": 1, "upto": jobs[-1].pk}
    answer = send(operator, "job", **form)
    assert told_by(answer)[0] == "2 jobs cancelled."
    assert "Cancel: 3 jobs" in answer.content.decode()
    assert f'name="after" value="{jobs[1].pk}"' in answer.content.decode()


def test_many_are_one_line_in_the_log(operator: Client, monkeypatch):
    monkeypatch.setattr(job_told, "LOGGED_EACH", 2)
    for _ in range(3):
        make_job(queue="q")
    act_on_all(operator, "cancel", "queue=q")
    assert logged() == [("anna", "3 jobs: queue q", "Cancelled.")]


def test_of_many_jobs_left_alone_the_first_ten_are_named(operator: Client):
    pending = [make_job() for _ in range(12)]
    (told,) = act(operator, "retry", *pending)
    assert told.startswith("12 jobs left alone, because it is not failed or cancelled: ")
    assert told.endswith(" and 2 more.")


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"action": "retry"}, "Select at least one job first, or choose all that match."),
        ({"action": "retry", "_selected_action": ["x", "²", "-1", "9" * 30]}, "Select at least one job first"),
        ({"action": "explode", "_selected_action": [1]}, "Choose what to do first."),
        ({"action": "retry", "across": 1, "which": "state=odd"}, "The filter is not valid."),
        ({"action": "retry", "across": 1, "which": "queue=a+b"}, "The queue name"),
        ({"action": "retry", "_selected_action": [999], "confirmed": 1}, "No job matches any more"),
    ],
)
def test_an_order_that_cannot_be_changes_nothing_and_says_so(operator: Client, form, told):
    (message,) = told_by(send(operator, "job", **form))
    assert message.startswith(told)


def test_the_way_back_leads_nowhere_else(operator: Client):
    job = make_job()
    act_address = reverse("admin:jobs_job_act")
    form = {"action": "front", "_selected_action": job.pk, "confirmed": 1}
    own, list_page = reverse("admin:jobs_queue_changelist"), reverse("admin:jobs_job_changelist")
    assert operator.post(act_address, {**form, "next": own}).headers["Location"] == own
    for evil in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        assert operator.post(act_address, {**form, "next": evil}).headers["Location"] == list_page
    kept = operator.post(act_address, {**form, "which": "queue=q"}).headers["Location"]
    assert kept == f"{list_page}?queue=q"


def test_forms_work_where_a_site_groups_the_digits_of_numbers(operator: Client, settings):
    settings.USE_THOUSAND_SEPARATOR = True
    Job.objects.filter(pk=make_job().pk).update(id=1_234_567)
    for address in (reverse("admin:jobs_job_changelist"), reverse("admin:jobs_job_change", args=[1_234_567])):
        assert 'name="_selected_action" value="1234567"' in operator.get(address).content.decode()
    asked = send(operator, "job", action="cancel", _selected_action=1_234_567).content.decode()
    assert 'name="upto" value="1234567"' in asked
    assert 'name="_selected_action" value="1234567"' in asked


def test_who_clears_a_job_by_its_number_clears_none_that_mentions_it(operator: Client):
    job = job_in(Status.COMPLETED)
    other = job_in(Status.COMPLETED, subject=f"copy of {job.pk}")
    assert act_on_all(operator, "clear", f"q={job.pk}") == ["1 job cleared."]
    assert act_on_all(operator, "clear", f"q={job.pk}") == ["No job matches any more: nothing was done."]
    assert list(Job.objects.all()) == [other]


def test_what_was_done_before_a_failure_is_in_the_log(operator: Client, monkeypatch):
    monkeypatch.setattr(job_order, "BATCH", 1)
    first, second = make_job(), make_job()

    def fails_at_the_second(ids, said):
        if second.pk in ids:
            raise RuntimeError("the database is gone")
        return do_cancel(ids, said)

    monkeypatch.setitem(ACTIONS, "cancel", replace(ACTIONS["cancel"], run=fails_at_the_second))
    with pytest.raises(RuntimeError, match="the database is gone"):
        act_on_all(operator, "cancel", "")
    assert (reload(first).status, reload(second).status) == (Status.CANCELLED, Status.PENDING)
    assert logged() == [("anna", f"job {first.pk}", "Cancelled.")]
