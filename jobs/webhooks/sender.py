"""Sends one request to somebody else's server: to the very address that was checked, within a time, no redirects.

    answer = post("https://example.org/hook", b"{}", {"Content-Type": "application/json"}, timeout=10)

`http.client` and `ssl` from the standard library do it. Other clients look the name up themselves, after any check,
and their timeouts begin anew with every byte.
"""

import http.client
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from jobs.conf import conf
from jobs.exceptions import SendFailed, SendRefused
from jobs.sanitise import clean_error
from jobs.web_address import Address, BadAddress, Policy, Target, parse
from jobs.webhooks.limits import Limits, OverLimit, PlainSocket, TlsSocket
from jobs.webhooks.resolving import addresses_of

MOST_ADDRESSES = 3
KEPT_OF_ANSWER = 2048  # bytes
USER_AGENT = "Jobyard"


@dataclass(frozen=True)
class Answer:
    status: int
    text: str  # its beginning, safe to store
    seconds: float
    retry_after: str = ""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


def post(url: str, body: bytes, headers: Mapping[str, str], *, timeout: float, policy: Policy | None = None) -> Answer:
    """POST and return the answer, whatever its status. Raises SendRefused where the URL is not to be called at all
    (another try would not help), SendFailed where no answer came. The settings say who is called, or else `policy`."""
    began, limits = monotonic(), Limits(timeout)
    try:
        target = parse(url)
    except BadAddress as error:
        raise SendRefused(why=error) from None
    try:
        with connected(target, addresses_of(target, policy or conf.web_policy, limits), limits) as sock:
            response = exchange(sock, target, body, headers)
            text = beginning_of(response)
    except (OSError, http.client.HTTPException) as error:
        raise SendFailed(why=in_words(error, timeout)) from error
    return Answer(response.status, text, monotonic() - began, response.headers.get("Retry-After", ""))


def connected(target: Target, addresses: Sequence[Address], limits: Limits) -> socket.socket:
    """Each address gets its share of the time that is left; the first that answers is taken."""
    tried = addresses[:MOST_ADDRESSES]
    for place, address in enumerate(tried, 1):
        sock = PlainSocket(socket.AF_INET6 if address.version == 6 else socket.AF_INET, socket.SOCK_STREAM)
        sock.limits = limits
        try:
            sock.settimeout(limits.time_left() / (len(tried) - place + 1))
            sock.connect((str(address), target.port))
            return sock if target.scheme == "http" else with_tls(sock, target.host, limits)
        except OSError:
            sock.close()
            if place == len(tried):
                raise
    raise AssertionError("a host has an address, or was not found")


def with_tls(sock: PlainSocket, host: str, limits: Limits) -> TlsSocket:
    """The certificate must be for the host that the URL names, whatever address that led to."""
    sock.settimeout(limits.time_left())  # for the whole handshake
    wrapped = tls_context(conf.WEBHOOK_CA_FILE).wrap_socket(sock, server_hostname=host)
    assert isinstance(wrapped, TlsSocket)
    wrapped.limits = limits
    return wrapped


def tls_context(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.sslsocket_class = TlsSocket
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


def exchange(sock: socket.socket, target: Target, body: bytes, headers: Mapping[str, str]) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.sock, connection.auto_open = sock, 0  # never a connection of its own, to wherever
    sent = {"Host": target.authority, "User-Agent": USER_AGENT, "Accept": "*/*", "Connection": "close", **headers}
    connection.request("POST", target.path, body, sent)
    return connection.getresponse()


def beginning_of(response: http.client.HTTPResponse) -> str:
    """What the answer begins with. Who said a status has answered: a body that is cut or drips changes nothing."""
    said = b""
    try:
        while len(said) < KEPT_OF_ANSWER and (more := response.read1(KEPT_OF_ANSWER - len(said))):
            said += more
    except (OSError, http.client.HTTPException):
        pass  # what came until then is shown
    finally:
        response.close()
    text = "".join(
        char if char.isprintable() or char in "\n\t" else "\ufffd" for char in said.decode("utf-8", "replace")
    )
    return clean_error(text, KEPT_OF_ANSWER)


def in_words(error: Exception, timeout: float) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return f"it took longer than {timeout:g} s"
    if isinstance(error, http.client.HTTPException):
        return f"the answer is no HTTP ({type(error).__name__})"
    if isinstance(error, OverLimit):
        return str(error)
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
