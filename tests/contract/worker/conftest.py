"""Every test here runs twice: with the database at hand, and over HTTP, where one server serves them all."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from tests.web.server import WebServer
from tests.worker.remote_stage import RemoteStage, awake, web_server
from tests.worker.stage import SHORT, Stage


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[WebServer]:
    with web_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(params=["database", "http"])
def stage(
    request: pytest.FixtureRequest, tmp_path: Path, transactional_db: None, settings: LazySettings
) -> Iterator[Stage]:
    for name, value in SHORT.items():
        setattr(settings, name, value)
    if request.param == "database":
        stage = Stage(tmp_path)
        yield stage
        stage.end()
    else:
        server = request.getfixturevalue("server")
        with awake(server):
            stage = RemoteStage(tmp_path, server)
            yield stage
            stage.end()
