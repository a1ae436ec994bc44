"""When an attempt to log in is refused before anybody looks at the password.

Only attempts count whose password was looked at: no refusal makes the wait longer, so waiting always helps. Where a
user has logged in lately, what strangers try elsewhere does not count: nobody locks a user out of a place they know.
"""

import logging
import unicodedata
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac

from jobs.selectors.clock import database_now
from jobs.web_address import network_of
from project.login.models import LoginAttempt

logger = logging.getLogger(__name__)

WINDOW = timedelta(minutes=15)
KNOWN_FOR = timedelta(days=30)
# Failures within the window: of one name from one address, of one name from all, of all names from one address.
OF_PAIR, OF_NAME, OF_ADDRESS = 5, 20, 20
TIDY_EVERY = 100


class TooManyFailures(Exception):
    def __init__(self, minutes: int) -> None:
        self.minutes = minutes
        unit = "minute" if minutes == 1 else "minutes"
        super().__init__(
            f"Too many failed log-ins with this name or from this address. Wait {minutes} {unit}, then try again."
        )


def begin(name: str, address: str) -> LoginAttempt:
    """Note the attempt, which has failed until `succeeded` is told. It is counted with those that run beside it."""
    attempt = LoginAttempt.objects.create(name=digest(folded(name)), address=digest(network_of(address)))
    if attempt.pk % TIDY_EVERY == 0:
        tidy()
    wait = wait_of(attempt)
    if wait is None:
        return attempt
    attempt.delete()
    logger.warning("log-in refused, too many failures address=%s", network_of(address))
    raise TooManyFailures(max(1, -(-int(wait.total_seconds()) // 60)))


def succeeded(attempt: LoginAttempt) -> None:
    """From here on this user is known at this address, and what failed there before is forgiven."""
    LoginAttempt.objects.filter(name=attempt.name, address=attempt.address, succeeded=False).delete()
    LoginAttempt.objects.create(name=attempt.name, address=attempt.address, succeeded=True)


def wait_of(attempt: LoginAttempt) -> timedelta | None:
    """How long until there is room for it again; None where there is."""
    now = database_now()
    by_name, from_address = Q(name=attempt.name), Q(address=attempt.address)
    limits = [(by_name & from_address, OF_PAIR)]
    if not LoginAttempt.objects.filter(by_name, from_address, succeeded=True, at__gt=now - KNOWN_FOR).exists():
        limits += [(by_name, OF_NAME), (from_address, OF_ADDRESS)]
    others = LoginAttempt.objects.filter(succeeded=False, at__gt=now - WINDOW).exclude(pk=attempt.pk)
    waits = [frees_at + WINDOW - now for which, most in limits for frees_at in last(others.filter(which), most)]
    return max(waits, default=None)


def last(failures: QuerySet[LoginAttempt], most: int) -> QuerySet[LoginAttempt, datetime]:
    """The failure that must leave the window first, if there are so many."""
    return failures.order_by("-at", "-pk").values_list("at", flat=True)[most - 1 : most]


def tidy() -> None:
    now = database_now()
    old = Q(succeeded=False, at__lt=now - WINDOW) | Q(at__lt=now - KNOWN_FOR)
    LoginAttempt.objects.filter(old).delete()


def folded(name: str) -> str:
    """Spellings that a person would take for the same name count together."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def digest(text: str) -> str:
    return salted_hmac("project.login", text, algorithm="sha256").hexdigest()
