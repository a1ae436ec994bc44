"""Messages to webhooks in the admin: shown on the job's page and in a list, and sent again by who may operate."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import complete
from jobs.lifecycle.record_deliveries import record_deliveries
from jobs.lifecycle.take_deliveries import take_deliveries
from jobs.models import WebhookDelivery, WebhookHost
from jobs.webhooks.message import Sent
from tests.admin.visits import ESCAPED, HOSTILE, logged, page, send, staff, told_by
from tests.factories import claimed, make_job, make_worker

pytestmark = pytest.mark.django_db
LIST, ONE, JOB = "admin:jobs_webhookdelivery_changelist", "admin:jobs_webhookdelivery_change", "admin:jobs_job_change"


def failed_message(host: str = "hooks.example.org", **options: Any) -> WebhookDelivery:
    job = make_job(webhook_url=f"https://{host}/secret-path", **options)
    complete(claimed(make_worker(), job), {"said": HOSTILE})
    record_deliveries(
        [
            Sent(each, False, 410, HOSTILE, error="It answered 410: nobody wants this any more.", hopeless=True)
            for each in take_deliveries(10, lambda host: 10)
        ]
    )
    return WebhookDelivery.objects.get(job_id=job.pk)


def test_a_message_is_on_its_jobs_page_and_in_the_list(operator: Client):
    row = failed_message(subject=HOSTILE)
    for text in (page(operator, JOB, row.job_id), page(operator, LIST)):
        assert "hooks.example.org:443" in text
        assert "It answered 410" in text
        assert "Send again" in text
        assert HOSTILE not in text
    assert "webhook failed" in page(operator, JOB, row.job_id)
    assert ESCAPED in page(operator, LIST)


def test_a_message_shows_its_tries_and_what_is_sent(operator: Client):
    row = failed_message()
    text = page(operator, ONE, row.pk)
    for shown in (row.message_id, "https://hooks.example.org/secret-path", "1 of 5", "job.completed", ESCAPED):
        assert shown in text
    assert HOSTILE not in text
    assert reverse(JOB, args=[row.job_id]) in text
    WebhookDelivery.objects.update(finished_at=None, status="pending")  # not over, so it outlives its job
    clear([row.job_id])
    assert f"Job {row.job_id} is gone." in page(operator, ONE, row.pk)
    assert operator.get(reverse(ONE, args=[row.pk + 1])).status_code == 404


def test_the_list_is_filtered_and_paged(operator: Client):
    rows = [failed_message("a.example.org") for _ in range(2)] + [failed_message("b.example.org")]
    assert "b.example.org" not in page(operator, LIST, host="a.example.org:443")
    assert "a.example.org" not in page(operator, LIST, job=rows[2].job_id)
    assert "No message matches" in page(operator, LIST, status="delivered")
    assert "No message matches" in page(operator, LIST, host="a\x00b")
    assert "a.example.org" not in page(operator, LIST, before=rows[0].pk)


def test_a_host_that_is_left_alone_is_named(operator: Client):
    row = failed_message()
    WebhookHost.objects.create(host=row.host, failures=5, open_until=row.created_at, last_error="Connection refused.")
    for text in (page(operator, LIST), page(operator, ONE, row.pk)):
        assert "failed 5 times in a row" in text
        assert "Connection refused." in text


def test_who_may_operate_sends_again_and_that_is_noted(operator: Client):
    row = failed_message()
    answer = send(operator, "webhookdelivery", _selected_action=row.pk, next=reverse(JOB, args=[row.job_id]))
    assert told_by(answer) == ["1 message will be sent in a moment."]
    assert answer.redirect_chain[-1][0] == reverse(JOB, args=[row.job_id])
    row.refresh_from_db()
    assert (row.status, row.tries) == ("pending", 0)
    assert logged() == [("anna", f"webhook message {row.pk}", "Sent again.")]


def test_what_cannot_be_sent_is_told(operator: Client):
    row = failed_message()
    WebhookDelivery.objects.filter(pk=row.pk).update(status="pending", finished_at=None, claim_id=row.message_id[4:])
    told = told_by(send(operator, "webhookdelivery", _selected_action=[row.pk, 10**30, "x", row.pk + 7]))
    assert told == ["2 messages left alone: being sent right now, or gone."]
    assert told_by(send(operator, "webhookdelivery", next="https://evil.example/")) == [
        "Select at least one message first."
    ]


@pytest.mark.parametrize(
    ("permissions", "looks", "sends"),
    [((), 403, 403), (("view_webhookdelivery",), 200, 403), (("change_webhookdelivery",), 200, 200)],
)
def test_view_looks_and_change_sends(permissions: tuple[str, ...], looks: int, sends: int):
    row = failed_message()
    member = staff(*permissions)
    assert member.get(reverse(LIST)).status_code == looks
    assert member.get(reverse(ONE, args=[row.pk])).status_code == looks
    assert send(member, "webhookdelivery", _selected_action=row.pk).status_code == sends
    assert WebhookDelivery.objects.get().status == ("pending" if sends == 200 else "failed")


def test_the_button_is_shown_to_who_may_press_it():
    row = failed_message()
    assert "Send again" not in page(staff("view_job", "change_job", "view_webhookdelivery"), JOB, row.job_id)
    assert "Send again" in page(staff("view_job", "change_webhookdelivery", name="other"), JOB, row.job_id)


def test_it_is_sent_by_post_with_a_token_alone(operator: Client):
    row = failed_message()
    address = reverse("admin:jobs_webhookdelivery_act")
    assert operator.get(address, {"_selected_action": row.pk}).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert strict.post(address, {"_selected_action": row.pk}).status_code == 403
    assert WebhookDelivery.objects.get().status == "failed"
