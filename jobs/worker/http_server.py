"""The server of a remote worker: where it is, and what says who we are. Can be passed on to other processes."""

import os
import stat
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from jobs.bearer import prefix_of
from jobs.conf import conf
from jobs.exceptions import InvalidInput
from jobs.web_address import BadAddress, parse
from jobs.wire.names import ADDRESS

FOR_OTHERS = stat.S_IRWXO
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Server:
    url: str  # of the site
    key: str = field(repr=False)
    ca_file: str = ""
    process: UUID = field(default_factory=uuid4)  # which of the worker's processes we are

    @property
    def api(self) -> str:
        return f"{self.url.rstrip('/')}/{ADDRESS}"


def server_of(url: str, key_file: str, key: str) -> Server | None:
    """As the options and settings say; None where the worker has the database. Half of it is refused."""
    if not url:
        if key_file or key:
            given = "--key-file" if key_file else "JOBS_WORKER_KEY"
            raise InvalidInput(f"{given} is given, but no server: add --server URL, or set JOBS_SERVER_URL.")
        return None
    if not key_file and not key:
        raise InvalidInput("A server is given, but no key: add --key-file FILE, or set JOBS_WORKER_KEY.")
    check_url(url)
    if find_spec("urllib3") is None:
        raise InvalidInput("A worker with a server needs urllib3: pip install 'jobyard[remote]'.")
    key = read_key(Path(key_file)) if key_file else checked_key(key, "JOBS_WORKER_KEY")
    return Server(url, key, conf.SERVER_CA_FILE)


def check_url(url: str) -> None:
    try:
        target = parse(url)
    except BadAddress as error:
        raise InvalidInput(f"The server's URL {error}.") from None
    if urlsplit(url).query or urlsplit(url).fragment:
        raise InvalidInput("The server's URL is that of the site, without ? and #, as in https://jobs.example.org.")
    if target.scheme == "http" and target.host not in LOOPBACK and not conf.SERVER_ALLOW_HTTP:
        raise InvalidInput(
            "The server's URL begins with http://, which sends the worker's key and files in clear: use https://, "
            "or set JOBS_SERVER_ALLOW_HTTP=1 in a network that nobody else is in."
        )


def read_key(path: Path) -> str:
    """Refused if everybody on the machine could read it."""
    try:
        with path.open() as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(1000)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidInput(f"The key file {path} cannot be read: {reason}.") from None
    if mode & FOR_OTHERS:
        raise InvalidInput(f"The key file {path} is open to every user of this machine: run `chmod 600 {path}`.")
    return checked_key(text, f"The key file {path}")


def checked_key(text: str, where: str) -> str:
    key = text.strip()
    if prefix_of(key) is None:
        raise InvalidInput(f"{where} holds no worker's key, as `manage.py register_worker` or the admin shows it once.")
    return key
