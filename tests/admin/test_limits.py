"""Limits in the admin: set, paused, resumed and lifted, and why a job waits."""

import pytest
from django.test import Client
from django.urls import reverse

from jobs.lifecycle.claim import claim
from jobs.lifecycle.queues import pause
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.models import Limit
from tests.admin.visits import ESCAPED, HOSTILE, logged, page, send, staff, told_by
from tests.factories import claimed, make_job, make_worker

pytestmark = pytest.mark.django_db
PAGE = "admin:jobs_limit_changelist"


def test_without_limits_the_page_says_so(operator: Client):
    assert "There are no limits" in page(operator, PAGE)


def test_a_limit_is_set_paused_resumed_and_lifted(operator: Client):
    form = {"target": "key", "name": "customer-*"}
    assert told_by(send(operator, "limit", action="set", max_running=4, **form)) == [
        "Key customer-* limited: at most 4 at once for each key."
    ]
    assert Limit.objects.get().max_running == 4
    assert told_by(send(operator, "limit", action="pause", reason="bill", **form)) == ["Key customer-* paused."]
    assert "bill, by anna" in page(operator, PAGE)
    assert told_by(send(operator, "limit", action="resume", **form)) == ["Key customer-* resumed."]
    assert told_by(send(operator, "limit", action="lift", **form)) == ["Key customer-* is no longer limited."]
    assert not Limit.objects.exists()
    assert [who for who, _, _ in logged()] == ["anna"] * 4


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"target": "kind", "name": "a"}, "Say how many may run"),
        ({"target": "kind", "name": "a", "rate": "x"}, "as in 100/m"),
        ({"target": "kind", "name": "a", "max_running": "0"}, "greater than or equal to 1"),
        ({"target": "planet", "name": "a", "max_running": "1"}, "not one of the available choices"),
    ],
)
def test_what_cannot_be_set_is_told_and_what_was_typed_stays(operator: Client, form, words):
    answer = send(operator, "limit", action="set", **form)
    assert words in answer.content.decode()
    assert 'value="a"' in answer.content.decode()
    assert not Limit.objects.exists()


def test_a_limit_that_is_gone_is_told(operator: Client):
    assert told_by(send(operator, "limit", action="lift", target="kind", name="a")) == [
        "There is no limit of the kind a."
    ]


def test_who_may_only_look_sees_no_form_and_cannot_post():
    viewer = staff("view_limit")
    set_limit("queue", "media", Rules(max_running=1))
    assert "<button" not in page(viewer, PAGE).split('id="content"')[1]
    for action in ("set", "pause", "resume", "lift"):
        form = {"target": "kind", "name": "a", "max_running": 1}
        assert send(viewer, "limit", action=action, **form).status_code == 403
    assert viewer.get(reverse("admin:jobs_limit_act")).status_code == 405
    assert Limit.objects.count() == 1


def test_a_job_says_why_it_waits_on_its_page_and_in_the_list(operator: Client):
    set_limit("key", HOSTILE, Rules(max_running=1))
    claimed(limit_key=HOSTILE)
    held = make_job(limit_key=HOSTILE)
    assert claim(make_worker()) == []
    words = f"held back: 1 of 1 jobs of key {ESCAPED} run"
    assert words in page(operator, "admin:jobs_job_change", held.pk)
    assert words in page(operator, "admin:jobs_job_changelist")
    assert ESCAPED in page(operator, PAGE)


def test_a_full_or_paused_queue_is_told_too(operator: Client):
    set_limit("queue", "media", Rules(max_running=1))
    claimed(queue="media")
    waiting = make_job(queue="media")
    assert "held back: 1 of 1 jobs of queue media run" in page(operator, "admin:jobs_job_change", waiting.pk)
    pause("media", "new disk")
    assert "queue media is paused (new disk)" in page(operator, "admin:jobs_job_change", waiting.pk)
