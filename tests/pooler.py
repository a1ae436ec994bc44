"""PgBouncer in transaction mode, before a PostgreSQL: each transaction gets whichever connection is free."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import psycopg

from tests.postgres import free_port, unprivileged_user

COMMAND = "pgbouncer"
MISSING = "PgBouncer is not installed (apt-get install pgbouncer)"
STARTS_WITHIN = 20.0
CONF = """
[databases]
* = host={host} port={port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
default_pool_size = {size}
"""


class Pooler:
    """`with Pooler(host, port, user, size=2) as pooler: … pooler.url(database)`"""

    def __init__(self, host: str, port: str, user: str, size: int) -> None:
        self.user, self.port = user, free_port()
        self.root = Path(tempfile.mkdtemp(prefix="jobyard-pooler-"))
        users, self.conf = self.root / "users", self.root / "conf"
        users.write_text(f'"{user}" ""\n')
        self.conf.write_text(CONF.format(host=host, port=port, listen_port=self.port, users=users, size=size))

    def __enter__(self) -> "Pooler":
        who = unprivileged_user()  # it does not run as root
        if who:
            for path in (self.root, *self.root.iterdir()):
                os.chown(path, who.pw_uid, who.pw_gid)
        ids = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []} if who else {}
        command = [str(shutil.which(COMMAND)), "-q", str(self.conf)]
        with (self.root / "log").open("w") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                **ids,  # type: ignore[call-overload]
            )
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def url(self, database: str) -> str:
        return f"postgres://{self.user}@127.0.0.1:{self.port}/{database}"

    def wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while True:
            try:
                psycopg.connect(self.url("postgres"), prepare_threshold=None).close()
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.root / "log").read_text()
                assert time.monotonic() < deadline, (self.root / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        self.process.terminate()  # it lets nobody finish
        self.process.wait(STARTS_WITHIN)
        shutil.rmtree(self.root, ignore_errors=True)
