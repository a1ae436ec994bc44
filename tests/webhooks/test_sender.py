"""The guarded sender: what it sends, whom it refuses to call, and how it keeps to its limits."""

import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest
from django.conf import LazySettings

from jobs.exceptions import SendFailed, SendRefused
from jobs.webhooks.sender import KEPT_OF_ANSWER, post
from tests.webhooks.receiver import CERTIFICATES, Receiver, dripping, running, say

pytestmark = pytest.mark.once


def send(url: str, body: bytes = b"{}", timeout: float = 5) -> tuple[int, str]:
    answer = post(url, body, {"Content-Type": "application/json"}, timeout=timeout)
    return answer.status, answer.text


def test_a_body_is_sent_and_the_answer_comes_back(receiver: Receiver):
    receiver.answers = [lambda request: say(request, 200, b"thanks")]
    assert send(receiver.url("/hook/7?a=b"), b'{"x":1}') == (200, "thanks")
    [heard] = receiver.heard
    assert (heard.path, heard.body) == ("/hook/7?a=b", b'{"x":1}')
    assert heard.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert heard.headers["content-type"] == "application/json"


def test_proxies_of_the_environment_are_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert send(receiver.url())[0] == 204


def test_a_redirect_is_an_answer_and_is_not_followed(receiver: Receiver):
    receiver.answers = [lambda request: say(request, 307, Location=receiver.url("/elsewhere"))]
    assert send(receiver.url())[0] == 307
    assert [heard.path for heard in receiver.heard] == ["/hook"]


def test_of_an_answer_only_the_beginning_is_kept_and_it_can_be_stored(receiver: Receiver):
    receiver.answers = [lambda request: say(request, 500, b"a\x00\xff\x1b[31m" + b"z" * 1_000_000)]
    status, text = send(receiver.url())
    assert (status, len(text)) == (500, KEPT_OF_ANSWER)
    assert text.startswith("a���[31mzzz")


def timed(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def test_who_drips_its_headers_is_cut_off_at_the_deadline(receiver: Receiver):
    receiver.answers = [dripping(receiver, b"HTTP/1.1 200 OK\r\nX-Slow: ")]

    def call() -> None:
        with pytest.raises(SendFailed, match=r"took longer than 0\.3 s"):
            send(receiver.url(), timeout=0.3)

    assert timed(call) < 2


def test_who_drips_its_body_has_answered_and_is_cut_off_at_the_deadline(receiver: Receiver):
    receiver.answers = [dripping(receiver, b"HTTP/1.1 202 Accepted\r\n\r\n")]
    answers: list[tuple[int, str]] = []
    assert timed(lambda: answers.append(send(receiver.url(), timeout=0.3))) < 2
    [(status, text)] = answers
    assert status == 202
    assert set(text) == {"x"}


def test_who_does_not_answer_is_cut_off_at_the_deadline(receiver: Receiver):
    receiver.answers = [lambda request: receiver.over.wait(20)]
    with pytest.raises(SendFailed, match=r"took longer than 0\.2 s"):
        send(receiver.url(), timeout=0.2)


def endless_headers(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 2000) for n in range(90)))


def test_who_says_too_much_is_cut_off(receiver: Receiver):
    receiver.answers = [endless_headers]
    with pytest.raises(SendFailed, match="more than 65536 bytes"):
        send(receiver.url())


@pytest.mark.parametrize("first", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 banana\r\n\r\n", b""])
def test_what_is_no_http_is_no_answer(receiver: Receiver, first: bytes):
    receiver.answers = [lambda request: request.wfile.write(first)]
    with pytest.raises(SendFailed):
        send(receiver.url())


def test_where_nobody_listens_it_says_so(receiver: Receiver):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(SendFailed, match="Connection refused"):
            send(f"http://127.0.0.1:{closed.getsockname()[1]}/")


def test_a_name_that_does_not_exist_may_exist_later(settings: LazySettings):
    with pytest.raises(SendFailed, match="cannot be found") as caught:
        send("https://nowhere.invalid/")
    assert not isinstance(caught.value, SendRefused)


FORBIDDEN = [
    "127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[fe80::1]",
    "[fc00::1]", "[fd12::1]", "[fec0::1]", "[ff02::1]", "[2002:7f00:1::]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a00:1]",
    "[64:ff9b:1::1]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[4000::1]",
]  # fmt: skip


@pytest.mark.parametrize("host", FORBIDDEN)
def test_what_is_not_of_the_internet_is_never_called(host: str):
    with pytest.raises(SendRefused, match="JOBS_WEBHOOK_ALLOW"):
        send(f"https://{host}/")


def test_a_name_that_leads_here_is_not_called(receiver: Receiver, settings: LazySettings):
    settings.JOBS_WEBHOOK_ALLOW = ""
    settings.JOBS_WEBHOOK_PORTS = str(receiver.port)
    with pytest.raises(SendRefused, match=r"leads to .* which is loopback"):
        send(f"https://localhost:{receiver.port}/")
    assert receiver.heard == []


def addresses(*hosts: str) -> list[tuple[object, ...]]:
    return [(socket.AF_INET6 if ":" in host else socket.AF_INET, 1, 6, "", (host, 0)) for host in hosts]


class Names:
    """Stands in for a name server that is against us: another answer each time it is asked."""

    def __init__(self, *answers: list[tuple[object, ...]]) -> None:
        self.answers = list(answers)

    def __call__(self, *arguments: object, **options: object) -> list[tuple[object, ...]]:
        return self.answers.pop(0)


def test_a_name_is_looked_up_once_and_the_address_that_was_checked_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    names = Names(addresses("127.0.0.1"), addresses("169.254.169.254"))
    monkeypatch.setattr(socket, "getaddrinfo", names)
    assert send(receiver.url(host="rebinding.example"))[0] == 204
    assert len(names.answers) == 1
    assert receiver.heard[0].headers["host"] == f"rebinding.example:{receiver.port}"


@pytest.mark.parametrize("hidden", ["10.0.0.1", "::1", "::ffff:10.0.0.1", "fe80::1%eth0"])
def test_one_address_that_may_not_be_called_spoils_the_others(monkeypatch: pytest.MonkeyPatch, hidden: str):
    monkeypatch.setattr(socket, "getaddrinfo", Names(addresses("93.184.215.14", hidden)))
    with pytest.raises(SendRefused, match="JOBS_WEBHOOK_ALLOW"):
        send("https://example.org/")


def test_the_next_address_is_tried_when_one_does_not_answer(receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", Names(addresses("127.0.0.2", "127.0.0.1")))
    assert send(receiver.url(host="two.example"))[0] == 204  # it listens on the second alone


def test_a_name_server_that_hangs_costs_no_more_than_the_deadline(monkeypatch: pytest.MonkeyPatch, receiver: Receiver):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **options: receiver.over.wait(20) and [])

    def call() -> None:
        with pytest.raises(SendFailed, match="no answer in time"):
            send("https://example.org/", timeout=0.1)

    assert timed(call) < 2
    receiver.over.set()


def test_public_addresses_need_https_and_a_port_that_is_allowed(monkeypatch: pytest.MonkeyPatch, receiver: Receiver):
    """A name may lead into an allowed network, so this is only known now."""
    for url, words in (("http://example.org/", "must begin with https://"), ("https://example.org:22/", "has port 22")):
        monkeypatch.setattr(socket, "getaddrinfo", Names(addresses("93.184.215.14")))
        with pytest.raises(SendRefused, match=words):
            send(url)


def test_https_is_for_the_host_that_the_url_names(settings: LazySettings):
    settings.JOBS_WEBHOOK_ALLOW = "127.0.0.0/8, ::1"
    settings.JOBS_WEBHOOK_CA_FILE = str(CERTIFICATES / "authority.pem")
    with running("https") as receiver:
        assert send(receiver.url(host="localhost"))[0] == 204
        with pytest.raises(SendFailed, match="certificate is not accepted"):
            send(receiver.url(host="127.0.0.1"))
        settings.JOBS_WEBHOOK_CA_FILE = ""
        with pytest.raises(SendFailed, match="certificate is not accepted"):
            send(receiver.url(host="localhost"))
        assert len(receiver.heard) == 1


def test_over_tls_too_dripping_is_cut_off(settings: LazySettings):
    settings.JOBS_WEBHOOK_ALLOW = "127.0.0.0/8, ::1"
    settings.JOBS_WEBHOOK_CA_FILE = str(CERTIFICATES / "authority.pem")
    with running("https") as receiver:
        receiver.answers = [dripping(receiver, b"HTTP/1.1 200 OK\r\nX-Slow: ")]
        with pytest.raises(SendFailed, match="took longer"):
            send(receiver.url(host="localhost"), timeout=0.5)


def test_who_takes_the_body_too_slowly_is_cut_off(receiver: Receiver):
    """It listens and never reads: what the system buffers is soon full."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(SendFailed, match="took longer"):
        send(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"x" * 20_000_000, timeout=0.3)
