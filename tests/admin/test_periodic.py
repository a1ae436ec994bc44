"""Periodic jobs in the admin: what is due and what became of it, and every change by a form of ours."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs.handlers.periodic import Declaration
from jobs.lifecycle.periodic.edit import edit, run_now
from jobs.lifecycle.periodic.sync import sync
from jobs.lifecycle.periodic.tick import tick_once
from jobs.models import Job, PeriodicJob
from tests.admin.visits import ESCAPED, HOSTILE, logged, logged_in, page, send, staff, told_by
from tests.factories import make_due, make_periodic

pytestmark = pytest.mark.django_db
LIST, ADD, PAGE, ACT = (f"admin:jobs_periodicjob_{name}" for name in ("changelist", "add", "change", "act"))
FORM = {
    "schedule": "0 3 * * *",
    "timezone": "Europe/Berlin",
    "payload": '{"month": 5}',
    "priority": "0",
    "overlap": "on",
}
NIGHTLY = Declaration("nightly", "test.noop", "0 3 * * *", "Europe/Berlin", {"month": 5})


def declared(*declarations: Declaration) -> PeriodicJob:
    sync(declarations or [NIGHTLY], ["test.noop"])
    return PeriodicJob.objects.get(name="nightly")


def act(client: Client, action: str, name: str = "nightly") -> list[str]:
    return told_by(send(client, "periodicjob", action=action, name=name))


def save(client: Client, row: PeriodicJob, **form: Any) -> Any:
    return client.post(reverse(PAGE, args=[row.pk]), {**FORM, "enabled": "on", **form}, follow=True)


def queries(client: Client, name: str, *arguments: object) -> int:
    with CaptureQueriesContext(connection) as captured:
        page(client, name, *arguments)
    return len(captured)


def test_the_list_shows_state_schedule_next_and_last_run(operator: Client):
    row = declared()
    make_due(row)
    [job] = tick_once().enqueued
    content = page(operator, LIST)
    for text in ("nightly", "0 3 * * *", "At 03:00 every day", "Europe/Berlin", "jy-on", f"job {job}", "jy-unclaimed"):
        assert text in content
    assert reverse("admin:jobs_job_change", args=[job]) in content
    assert "Declare one in the code" not in content


def test_an_empty_list_says_what_to_do(operator: Client):
    assert "Declare one in the code" in page(operator, LIST)


def test_the_pages_cost_the_same_however_many_there_are(operator: Client):
    first = declared()
    run_now("nightly")
    few = queries(operator, LIST), queries(operator, PAGE, first.pk)
    for number in range(20):
        row = make_periodic(f"more-{number}", catch_up="all")
        make_due(row, since=timedelta(hours=3))
    tick_once()
    assert (queries(operator, LIST), queries(operator, PAGE, row.pk)) == few
    assert max(few) <= 8


def test_the_page_shows_ticks_edits_and_what_comes_next(operator: Client):
    row = declared()
    edit("nightly", payload={"month": 6})
    run_now("nightly")
    Job.objects.all().delete()
    content = page(operator, PAGE, row.pk)
    for text in (
        "03:00:00 CE",
        "The code says",
        "&quot;month&quot;: 5",
        "&quot;month&quot;: 6",
        "by hand",
        "(deleted)",
    ):
        assert text in content
    assert 'value="reset"' in content
    assert 'value="remove"' not in content, "the code would bring it back"


def test_a_schedule_that_cannot_be_read_any_more_breaks_no_page(operator: Client):
    row = make_periodic()
    make_due(row)
    PeriodicJob.objects.update(timezone="Atlantis/Capital", payload={"x": HOSTILE})
    tick_once()
    PeriodicJob.objects.update(problem=HOSTILE)
    for content in (page(operator, LIST), page(operator, PAGE, row.pk)):
        assert "jy-broken" in content
        assert ESCAPED in content
        assert HOSTILE not in content


def test_on_off_run_now_and_reset(operator: Client):
    declared()
    assert act(operator, "turn_off") == ["nightly: turned off."]
    assert PeriodicJob.objects.get().next_at is None
    assert "jy-off" in page(operator, LIST)
    assert act(operator, "run_now") == [f"nightly: job {Job.objects.get().pk} enqueued."]
    assert act(operator, "turn_on") == ["nightly: turned on."]
    edit("nightly", schedule="@hourly", priority=5)
    assert act(operator, "reset") == ["nightly: reset to what the code says: schedule, priority."]
    assert PeriodicJob.objects.get().schedule == "0 3 * * *"
    assert [entry[:2] for entry in logged()] == [("anna", "nightly")] * 4
    assert logged()[0][2] == "Turned off."


def test_what_cannot_be_done_is_said(operator: Client):
    declared()
    edit("nightly", overlap=False)
    job = run_now("nightly")
    assert act(operator, "run_now") == [f"The periodic job nightly has one job at a time, and job {job} has not ended."]
    assert act(operator, "remove")[0].startswith("The periodic job nightly is declared in the code")
    assert act(operator, "run_now", "nobody") == ["There is no periodic job 'nobody'."]
    assert not LogEntry.objects.exists()


def test_what_is_saved_wins_over_the_code(operator: Client):
    row = declared()
    assert told_by(save(operator, row)) == ["Nothing was changed."]
    told = told_by(save(operator, row, schedule="every 15m", payload='{"month": 6}'))
    assert told == ["Saved: schedule, payload."]
    assert logged() == [("anna", "nightly", "Edited: schedule, payload.")]
    declared()
    row.refresh_from_db()
    assert (row.schedule, row.payload, row.edited) == ("every 15m", {"month": 6}, ["schedule", "payload"])


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"schedule": "0 0 30 2 *"}, "no month that it names has a day 30"),
        ({"schedule": ""}, "This field is required."),
        ({"timezone": "Europe/Berlinn"}, "Did you mean &#x27;Europe/Berlin&#x27;?"),
        ({"payload": "{"}, "Enter a valid JSON."),
        ({"payload": "[1]"}, "it must be a JSON object"),
        ({"priority": "101"}, "less than or equal to 100"),
        ({"queue": "no spaces"}, "The queue of the periodic job"),
        ({"catch_up": "all", "overlap": ""}, "choose catch_up=&#x27;one&#x27;"),
    ],
)
def test_what_cannot_work_is_refused_and_the_form_stays_as_it_was_filled(operator: Client, form, said):
    row = declared()
    before = PeriodicJob.objects.values().get()
    answer = save(operator, row, **{"queue": "mine", **form})
    assert said in answer.content.decode()
    assert 'value="Europe/Berlin' in answer.content.decode()
    assert PeriodicJob.objects.values().get() == before
    new = operator.post(reverse(ADD), {**FORM, "name": "new", "kind": "test.noop", **form})
    assert said in new.content.decode()
    assert PeriodicJob.objects.count() == 1


def test_new_ones_are_added_and_removed(operator: Client):
    assert "test.noop" in page(operator, ADD)
    told = told_by(operator.post(reverse(ADD), {**FORM, "name": "mine", "kind": "test.noop"}, follow=True))
    assert told == ["The periodic job mine was added."]
    row = PeriodicJob.objects.get()
    assert (row.payload, row.declared, row.enabled, row.next_at) == ({"month": 5}, None, False, None)
    twice = operator.post(reverse(ADD), {**FORM, "name": "mine", "kind": "test.noop"})
    assert "There is a periodic job &#x27;mine&#x27; already" in twice.content.decode()
    assert act(operator, "remove", "mine") == ["mine: removed."]
    assert not PeriodicJob.objects.exists()
    assert [entry[2] for entry in logged()] == ["Added.", "Removed."]


def test_what_vanished_is_shown_so_and_can_be_removed(operator: Client):
    row = declared()
    sync([], ["test.noop"])
    assert "jy-gone" in page(operator, LIST)
    content = page(operator, PAGE, row.pk)
    assert "The code declares it no more" in content
    assert 'value="turn_off"' not in content
    assert act(operator, "remove") == ["nightly: removed."]


def test_who_may_only_look_sees_no_forms_and_cannot_post():
    row, viewer = declared(), staff("view_periodicjob")
    for content in (page(viewer, LIST), page(viewer, PAGE, row.pk)):
        inner = content.split('id="content"')[1]
        assert "<button" not in inner
        assert "<form" not in inner
        assert reverse(ADD) not in inner
    for action in ("run_now", "turn_on", "turn_off", "reset", "remove", "", "x"):
        assert send(viewer, "periodicjob", action=action, name="nightly").status_code == 403
    assert viewer.post(reverse(PAGE, args=[row.pk]), FORM).status_code == 403
    for method in (viewer.get, viewer.post):
        assert method(reverse(ADD)).status_code == 403
    assert viewer.post(reverse("admin:jobs_periodicjob_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert not Job.objects.exists()
    assert not LogEntry.objects.exists()


def test_to_operate_to_administer_and_to_add_are_three_things():
    row = make_periodic("nightly")
    operates = staff("change_periodicjob")
    assert act(operates, "turn_off") == ["nightly: turned off."]
    assert told_by(save(operates, row, enabled="")) == ["Saved: schedule, timezone, payload."]
    assert send(operates, "periodicjob", action="remove", name="nightly").status_code == 403
    assert operates.get(reverse(ADD)).status_code == 403
    administers = staff("delete_periodicjob", name="admin")
    assert send(administers, "periodicjob", action="turn_on", name="nightly").status_code == 403
    assert administers.post(reverse(PAGE, args=[row.pk]), FORM).status_code == 403
    assert act(administers, "remove") == ["nightly: removed."]
    adds = staff("add_periodicjob", "view_periodicjob", name="adder")
    assert adds.post(reverse(ADD), {**FORM, "name": "new", "kind": "test.noop"}, follow=True).status_code == 200
    assert PeriodicJob.objects.get().name == "new"


def test_changes_are_posts_with_a_token(client: Client):
    row = declared()
    strict = logged_in(User.objects.create_superuser("anna", password=None), enforce_csrf_checks=True)
    assert strict.get(reverse(ACT), {"action": "run_now", "name": "nightly"}).status_code == 405
    for address in (reverse(ACT), reverse(ADD), reverse(PAGE, args=[row.pk])):
        assert strict.post(address, {**FORM, "action": "run_now", "name": "nightly"}).status_code == 403
    for name in (LIST, ADD, ACT):
        assert client.get(reverse(name)).headers["Location"].startswith(reverse("admin:login"))
    assert staff().get(reverse(LIST)).status_code == 403
    assert not Job.objects.exists()


def test_one_that_is_not_there_is_not_found(operator: Client):
    for wrong in ("x", "4711", "9" * 30):
        assert operator.get(reverse(PAGE, args=[wrong])).status_code == 404
