"""The site behind TLS, with an authority of one's own: a worker that trusts it works, and no other says its key."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from trustme import CA

from jobs.bearer import new_secret
from jobs.states import Status
from jobs.worker.http_connection import HttpConnection
from jobs.worker.http_server import Server
from jobs.worker.queue_client import QueueRefuses
from tests.web.server import WebServer
from tests.worker.odd_server import OddServer, odd_server
from tests.worker.remote_stage import RemoteStage, web_server
from tests.worker.stage import SHORT

KEY = new_secret("worker").text
LAST_YEAR = datetime.now(UTC) - timedelta(days=365)


@pytest.fixture(scope="module")
def authority() -> CA:
    return CA()


@pytest.fixture
def ca_file(tmp_path: Path, authority: CA) -> Path:
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    return tmp_path / "authority.pem"


@pytest.fixture
def server() -> Iterator[OddServer]:
    with odd_server(OddServer()) as server:
        yield server


def ask(server: OddServer, ca_file: Path | str, host: str = "localhost") -> object:
    url = f"https://{host}:{server.httpd.server_port}"
    with closing(HttpConnection(Server(url, KEY, str(ca_file)))) as connection:
        return connection.call("POST", "claim", {"limit": 1})


@pytest.mark.parametrize(
    ("name", "host", "ends", "trusted", "words"),
    [
        (
            "localhost",
            "localhost",
            None,
            False,
            "unable to get local issuer.* Name the authority .*JOBS_SERVER_CA_FILE",
        ),
        ("localhost", "127.0.0.1", None, True, "IP address mismatch.* Use the name that the certificate is for"),
        ("jobs.example.org", "localhost", None, True, "Hostname mismatch.* Use the name that the certificate is for"),
        ("localhost", "localhost", LAST_YEAR, True, "has expired. Renew the certificate on the server"),
    ],
    ids=["another authority", "another address", "another name", "expired"],
)
def test_a_certificate_that_is_not_right_is_refused_with_what_to_do_and_no_key_is_said(
    server, authority, ca_file, name, host, ends, trusted, words
):
    began = ends and ends - timedelta(days=1)
    server.secure(authority.issue_cert(name, not_before=began, not_after=ends))
    with pytest.raises(QueueRefuses, match=words) as refused:
        ask(server, ca_file if trusted else "", host)
    assert f"https://{host}:" in str(refused.value)
    assert server.requests == []


def test_the_right_certificate_is_enough(server, authority, ca_file):
    server.secure(authority.issue_cert("localhost"))
    assert ask(server, ca_file) == {}
    assert server.requests[0].headers["X-Worker-API-Key"] == KEY


def test_a_server_without_tls_is_told_as_one(server, ca_file):
    with pytest.raises(QueueRefuses, match="Is TLS spoken there"):
        ask(server, ca_file)
    assert server.requests == []


@pytest.fixture
def site(tmp_path: Path, authority: CA, transactional_db: None) -> Iterator[WebServer]:
    """gunicorn's own TLS."""
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(tmp_path / "site.pem")
    with web_server(tmp_path, str(tmp_path / "site.pem"), HTTPS="1", ALLOWED_HOSTS="localhost,127.0.0.1") as server:
        yield server


@pytest.fixture
def stage(tmp_path: Path, site: WebServer, settings: LazySettings) -> Iterator[RemoteStage]:
    for name, value in SHORT.items():
        setattr(settings, name, value)
    stage = RemoteStage(tmp_path, site)
    stage.url = f"https://localhost:{site.port}"
    yield stage
    stage.end()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_trusts_the_site_works_and_another_says_why_not(stage: RemoteStage, ca_file: Path):
    job_id = stage.add("app.short")
    stranger = stage.worker(NO_PROXY="localhost")
    friend = stage.worker("--until-empty", NO_PROXY="localhost", JOBS_SERVER_CA_FILE=str(ca_file))
    assert friend.exit_code() == 0, stage.logs()
    assert stage.wait_for_end(job_id).status == Status.COMPLETED
    assert stranger.exit_code() == 1
    last = stranger.log.read_text().splitlines()[-1]
    assert re.search("certificate of https://localhost.* JOBS_SERVER_CA_FILE", last)
