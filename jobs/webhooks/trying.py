"""One try: sign, send, and say what became of it in a value. Nothing that a receiver does gets out of here."""

import logging
from http import HTTPStatus

from jobs.conf import conf
from jobs.exceptions import SendFailed, SendRefused
from jobs.sanitise import clean_error
from jobs.webhooks.message import Delivery, Sent
from jobs.webhooks.sender import Answer, post
from jobs.webhooks.signing import headers

logger = logging.getLogger("jobs.webhooks")
MOST_ERROR = 500  # characters
LONGEST_RETRY_AFTER = 3600.0


def try_once(delivery: Delivery) -> Sent:
    try:
        sent = judged(delivery, send(delivery))
    except SendRefused as error:
        sent = Sent(delivery, False, error=words(error), hopeless=True)
    except SendFailed as error:
        sent = Sent(delivery, False, error=words(error), host_is_well=False)
    except Exception as error:  # a fault of ours must not cost the other messages
        logger.exception("a webhook could not be sent id=%s host=%s", delivery.message_id, delivery.host)
        sent = Sent(delivery, False, error=words(error))
    level = logging.INFO if sent.delivered else logging.WARNING
    logger.log(level, "webhook %s id=%s host=%s status=%s error=%r", "delivered" if sent.delivered else "not delivered",
               delivery.message_id, delivery.host, sent.status, sent.error)  # fmt: skip
    return sent


def send(delivery: Delivery) -> Answer:
    signed = headers(conf.WEBHOOK_SECRET, delivery.message_id, delivery.timestamp, delivery.body)
    content = {"Content-Type": "application/json; charset=utf-8"}
    return post(delivery.url, delivery.body, content | signed, timeout=conf.WEBHOOK_TIMEOUT)


def judged(delivery: Delivery, answer: Answer) -> Sent:
    """2xx is delivered. A host that answers 5xx or 429 is not well; any other answer is about this message alone."""
    return Sent(
        delivery,
        delivered=answer.is_good,
        status=answer.status,
        answer=answer.text,
        error="" if answer.is_good else complaint(answer.status),
        seconds=answer.seconds,
        retry_after=seconds_in(answer.retry_after),
        hopeless=answer.status == HTTPStatus.GONE,
        host_is_well=answer.status < 500 and answer.status != HTTPStatus.TOO_MANY_REQUESTS,
    )


def complaint(status: int) -> str:
    if 300 <= status < 400:
        return f"It answered {status}: redirects are not followed, so give the address that it leads to."
    if status == HTTPStatus.GONE:
        return "It answered 410: nobody wants this any more."
    return f"It answered {status}."


def seconds_in(retry_after: str) -> float | None:
    """The header, where it is a number; a date would be compared with a clock that may be wrong."""
    return min(float(retry_after), LONGEST_RETRY_AFTER) if retry_after.isdecimal() and len(retry_after) < 10 else None


def words(error: Exception) -> str:
    return clean_error(error, MOST_ERROR)
