"""Logging in has a limit, by name and by address; nobody can lock a user out for ever."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from jobs.selectors.clock import database_now
from jobs.web_address import network_of
from project.login import limits
from project.login.models import LoginAttempt

pytestmark = pytest.mark.django_db
GOOD, BAD = "correct horse battery", "wrong"
PAGES = ("/admin/login/", "/accounts/login/")
HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture(autouse=True)
def _site(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    # Real hashing takes a fifth of a second for each attempt on purpose.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    User.objects.create_superuser("anna", password=GOOD)


def told(name: str, password: str, address: str = HOME, page: str = PAGES[0]) -> str:
    """What the page says to an attempt; "in" if it lets in."""
    answer = Client(REMOTE_ADDR=address).post(page, {"username": name, "password": password})
    if answer.status_code == 302:
        return "in"
    [error] = answer.context["form"].non_field_errors()
    return str(error)


def fail(times: int, name: str = "anna", address: str = HOME) -> None:
    for _ in range(times):
        assert "Please enter" in told(name, BAD, address)


def pass_time(by: timedelta) -> None:
    for attempt in LoginAttempt.objects.all():
        attempt.at -= by
        attempt.save()


@pytest.mark.parametrize("page", PAGES)
def test_a_tab_says_which_page_it_is(page):
    assert "<title>Log in | Jobyard</title>" in Client().get(page).content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_after_five_failures_even_the_right_password_has_to_wait(page, caplog):
    fail(limits.OF_PAIR)
    with caplog.at_level(logging.WARNING, "project.login"):
        said = told("anna", GOOD, page=page)
    assert said == "Too many failed log-ins with this name or from this address. Wait 15 minutes, then try again."
    assert caplog.messages == [f"log-in refused, too many failures address={HOME}"]


def test_the_wait_ends_and_refusals_do_not_make_it_longer():
    fail(limits.OF_PAIR)
    pass_time(timedelta(minutes=14))
    assert told("anna", GOOD).endswith("Wait 1 minute, then try again.")
    pass_time(timedelta(minutes=1))
    assert told("anna", GOOD) == "in"


def test_success_forgives_what_failed_before():
    fail(limits.OF_PAIR - 1)
    assert told("anna", GOOD) == "in"
    fail(limits.OF_PAIR - 1)
    assert told("anna", GOOD) == "in"


def test_spellings_of_a_name_count_together():
    for name in ("anna", "Anna", "ANNA", "\uff41nna", " anna"):
        fail(1, name)
    assert "Too many" in told("anna", GOOD)


def test_one_address_cannot_try_all_names():
    for number in range(limits.OF_ADDRESS):
        limits.begin(f"user-{number}", ELSEWHERE)
    assert "Too many" in told("anna", GOOD, ELSEWHERE)
    assert told("anna", GOOD, HOME) == "in"


def test_many_addresses_cannot_try_one_name():
    for number in range(limits.OF_NAME):
        limits.begin("anna", f"203.0.113.{number}")
    assert "Too many" in told("anna", GOOD, ELSEWHERE)


def test_others_cannot_lock_a_user_out_of_a_place_where_they_have_logged_in():
    assert told("anna", GOOD, HOME) == "in"
    for number in range(limits.OF_NAME):
        limits.begin("anna", f"203.0.113.{number}")
        limits.begin(f"user-{number}", HOME)
    assert told("anna", GOOD, HOME) == "in"
    fail(limits.OF_PAIR, address=HOME)
    assert "Too many" in told("anna", GOOD, HOME), "there, too, guesses have an end"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("unix:", "unix:", True),
    ],
)
def test_an_ipv6_network_counts_as_one_address(one, other, same):
    assert (network_of(one) == network_of(other)) is same


def test_attempts_that_run_beside_each_other_are_counted():
    running = [limits.begin("anna", HOME) for _ in range(limits.OF_PAIR)]
    with pytest.raises(limits.TooManyFailures):
        limits.begin("anna", HOME)
    assert LoginAttempt.objects.count() == len(running), "what was refused leaves nothing"


def test_names_and_addresses_are_stored_as_digests():
    fail(1, "my password by mistake")
    attempt = LoginAttempt.objects.get()
    assert (len(attempt.name), len(attempt.address)) == (64, 64)
    assert "password" not in attempt.name


def test_old_attempts_are_removed():
    fail(3)
    assert told("anna", GOOD, ELSEWHERE) == "in"
    LoginAttempt.objects.update(at=database_now() - timedelta(hours=1))
    limits.tidy()
    assert [attempt.succeeded for attempt in LoginAttempt.objects.all()] == [True]
    LoginAttempt.objects.update(at=database_now() - limits.KNOWN_FOR - timedelta(hours=1))
    limits.tidy()
    assert not LoginAttempt.objects.exists()


def test_who_is_not_staff_is_told_so_by_the_admin_and_let_in_by_the_other_page():
    User.objects.create_user("ben", password=GOOD)
    assert "for a staff account" in told("ben", GOOD, page="/admin/login/")
    assert told("ben", GOOD, page="/accounts/login/") == "in"
