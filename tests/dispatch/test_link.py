"""The link: it fails softly, is back by itself, tells no secret, and is not there unless it is wanted."""

import logging
import subprocess
import sys

import pytest

from jobs.checks import check_settings
from jobs.dispatch import link
from jobs.dispatch.link import RedisAway, RedisRequired, check_at_start
from tests.concurrency.threads import wait_until
from tests.postgres import free_port
from tests.redis_server import RedisServer

SECRET = "s3cr/et#pass"


def ping() -> bool:
    return bool(link.link().call(lambda client: client.ping()))


def answers() -> bool:
    try:
        return ping()
    except RedisAway:
        return False


def test_killed_it_fails_three_times_then_nobody_asks_and_then_it_is_back_by_itself(redis_server, caplog):
    caplog.set_level(logging.INFO, "jobs.dispatch")
    assert ping()
    redis_server.kill()
    for _ in range(3):
        with pytest.raises(RedisAway):
            ping()
    asked: list[object] = []
    with pytest.raises(RedisAway, match="a moment ago") as refused:
        link.link().call(asked.append)
    assert not asked
    assert 0 < refused.value.retry_in <= 0.3
    redis_server.start()
    wait_until(answers)
    assert "workers poll for" in caplog.text
    assert "Redis answers again" in caplog.text


@pytest.mark.usefixtures("redis_server")
def test_flapping_costs_no_more_than_the_failures(redis_server):
    for _ in range(3):
        assert ping()
        redis_server.kill()
        assert not answers()
        redis_server.start()
        assert ping()  # one failure opens nothing, and a connection that died is replaced


@pytest.mark.parametrize("dispatch", ["redis", "hybrid"])
def test_no_log_and_no_error_holds_the_password(redis_server, settings, caplog, dispatch):
    settings.JOBS_DISPATCH = dispatch
    caplog.set_level(logging.DEBUG)
    told = []
    with RedisServer(password="right") as locked:
        for url in (
            f"redis://:{SECRET}@127.0.0.1:{free_port()}/0",  # unreadable: the password should have been quoted
            f"redis://:s3cret@127.0.0.1:{free_port()}/0",  # nobody there
            locked.url.replace("right", "s3cret"),  # a wrong one
            f"redis://127.0.0.1:s3cret/{SECRET}",
        ):
            settings.JOBS_REDIS_URL = url
            try:
                check_at_start()
            except RedisRequired as error:
                told.append(str(error))
            told += [str(message) for message in check_settings()]
            try:
                ping()
            except RedisAway as away:
                told.append(repr(away))
    assert len(told) >= 4
    everything = " ".join([*told, caplog.text])
    assert "s3c" not in everything
    assert "Redis does not answer" in everything
    assert "cannot be read" in everything


def test_redis_refuses_to_start_without_it_and_hybrid_only_warns(redis_server, settings, caplog):
    check_at_start()
    redis_server.kill()
    with pytest.raises(RedisRequired, match=r"Redis does not answer.*JOBS_DISPATCH=hybrid"):
        check_at_start()
    settings.JOBS_DISPATCH = "hybrid"
    check_at_start()
    assert "this worker polls until Redis answers" in caplog.text


@pytest.mark.parametrize("dispatch", ["auto", "polling", "postgres"])
def test_others_ask_nobody(settings, dispatch):
    settings.JOBS_DISPATCH, settings.JOBS_REDIS_URL = dispatch, f"redis://127.0.0.1:{free_port()}"
    check_at_start()
    assert not link.is_on()
    assert not check_settings()


@pytest.mark.parametrize(("dispatch", "serious"), [("redis", True), ("hybrid", False)])
def test_without_an_address_the_check_says_so(settings, dispatch, serious):
    settings.JOBS_DISPATCH, settings.JOBS_REDIS_URL = dispatch, ""
    [message] = check_settings()
    assert "JOBS_REDIS_URL is empty" in message.msg
    assert message.is_serious() == serious
    assert not link.is_on()


IMPORTED = """
import sys, django
django.setup()
from jobs.dispatch import hints, link, progress
from jobs.lifecycle import enqueue, report
from jobs.worker import running
print("redis" in sys.modules)
"""


def test_redis_is_not_imported_unless_it_is_used():
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr


def test_without_the_package_it_is_off_and_says_what_to_install(settings, monkeypatch):
    settings.JOBS_DISPATCH, settings.JOBS_REDIS_URL = "redis", "redis://127.0.0.1"
    monkeypatch.setattr(link, "find_spec", lambda name: None)
    assert not link.is_on()
    with pytest.raises(RedisRequired, match=r"pip install 'jobyard\[redis\]'"):
        check_at_start()
