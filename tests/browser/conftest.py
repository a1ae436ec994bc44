"""The site with its own strict policy, and a browser that looks at it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from tests.browser.screen import Screen, require_browser


@pytest.fixture(scope="session")
def live_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """The site. Its pages have to live with the policy of project/headers.py, which forbids all that is not needed."""
    require_browser()
    static = tmp_path_factory.mktemp("static")  # where there is none, WhiteNoise warns
    with override_settings(STATIC_ROOT=static):
        server = LiveServer("localhost")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser(live_server: LiveServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    screen = Screen(live_server.url, tmp_path_factory.mktemp("profile"))
    yield screen
    screen.quit()


@pytest.fixture
def screen(browser: Screen, live_server: LiveServer) -> Iterator[Screen]:
    """The browser as if nobody had used it, in the end with nothing in its console."""
    browser.driver.delete_all_cookies()
    browser.resize(1280, 900)
    browser.scheme("light")
    browser.complaints()
    yield browser
    complaints = browser.complaints()
    browser.driver.get("about:blank")
    assert not complaints


@pytest.fixture(autouse=True)
def _media(settings: LazySettings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.fixture(autouse=True)
def _no_thread_left_behind() -> Iterator[None]:
    """As for all tests; but the site keeps a thread for each connection that the browser may use again."""
    before = set(threading.enumerate())
    yield
    left = [thread.name for thread in set(threading.enumerate()) - before if thread.is_alive()]
    assert not [name for name in left if "process_request_thread" not in name], f"the test left threads behind: {left}"
