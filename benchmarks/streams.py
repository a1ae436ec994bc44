"""What live streams cost and how fast they are: `python -m benchmarks.streams [readers]`, on a private PostgreSQL.

Beside it, how fast pages are served by the same process, by plain WSGI, and by Django's own ASGI handler.
"""

import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import django

from tests.postgres import BENCHMARK_CONF, Postgres, free_port

READERS, SAMPLES, IDLE, ROUNDS = 200, 15, 5.0, 5
ROOT = Path(__file__).resolve().parent.parent
OURS = ["-m", "gunicorn"]
OTHERS = {
    "plain WSGI, 8 threads": [*OURS, "-c", "python:benchmarks", "--threads", "8", "project.wsgi"],
    "Django's ASGI handler": [
        *OURS, "-c", "python:benchmarks", "-k", "uvicorn_worker.UvicornWorker",
        "django.core.asgi:get_asgi_application()",
    ],
}  # fmt: skip


class Server:
    def __init__(self, command: list[str]) -> None:
        self.port = free_port()
        bind = [] if command is OURS else ["--bind", f"127.0.0.1:{self.port}", "--log-level", "error"]
        environment = {**os.environ, "PORT": str(self.port)}
        self.process = subprocess.Popen([sys.executable, *command, *bind], cwd=ROOT, env=environment)

    async def wait_until_it_answers(self) -> None:
        for _ in range(400):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
        raise SystemExit("The server does not answer.")

    @property
    def worker(self) -> int:
        """The process that answers; the other one only looks after it."""
        tasks = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(tasks[0])

    def status(self, name: str) -> int:
        lines = Path(f"/proc/{self.worker}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.worker}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(command: list[str]) -> Iterator[Server]:
    server = Server(command)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait(30)


async def request(server: Server, path: str, cookie: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**22)
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: sessionid={cookie}\r\n\r\n"
    writer.write(head.encode())
    return reader, writer


async def listen(
    server: Server, cookie: str, arrived: dict[tuple[int, str], list[float]], ready: asyncio.Event
) -> None:
    """Notes when each state of each job arrives."""
    reader, writer = await request(server, "/api/events/jobs", cookie)
    try:
        while line := await reader.readline():
            now = time.monotonic()
            if line.startswith(b'data: {"now"'):
                ready.set()
            elif line.startswith(b'data: {"id"'):
                job = json.loads(line[6:])
                arrived.setdefault((job["id"], job["status"]), []).append(now)
    finally:
        writer.close()


async def streams(server: Server, cookie: str, readers: int) -> None:
    from jobs.handlers.base import Outcome
    from jobs.lifecycle.claim import claim
    from jobs.lifecycle.enqueue import enqueue
    from jobs.lifecycle.finish import finish_one
    from jobs.lifecycle.workers import register
    from jobs.process_identity import ProcessIdentity

    await server.wait_until_it_answers()
    warm = [await request(server, "/admin/jobs/job/", cookie) for _ in range(20)]  # every thread has its connection
    await asyncio.gather(*(reader.readline() for reader, _ in warm))
    for _, writer in warm:
        writer.close()
    before = {name: server.status(name) for name in ("Threads", "VmRSS")}, await asyncio.to_thread(connections)
    arrived: dict[tuple[int, str], list[float]] = {}
    opened = [asyncio.Event() for _ in range(readers)]
    began = time.monotonic()
    tasks = [asyncio.create_task(listen(server, cookie, arrived, event)) for event in opened]
    await asyncio.gather(*(event.wait() for event in opened))
    print(f"{readers} readers have their snapshot after {time.monotonic() - began:.1f} s")
    cpu = server.cpu()
    await asyncio.sleep(IDLE)
    held = await asyncio.to_thread(connections)
    print(f"threads {before[0]['Threads']} -> {server.status('Threads')}, connections {before[1]} -> {held}")
    print(f"memory {before[0]['VmRSS'] / 1024:.0f} -> {server.status('VmRSS') / 1024:.0f} MiB")
    print(f"idle: {100 * (server.cpu() - cpu) / IDLE:.1f} % of a core")
    worker = await asyncio.to_thread(register, "bench", ProcessIdentity("bench", 1))
    written: dict[tuple[int, str], float] = {}
    for _ in range(SAMPLES):
        job_id = (await asyncio.to_thread(enqueue, "demo.archive", queue="bench", allow_unknown=True)).job_id
        written[job_id, "pending"] = time.monotonic()
        await asyncio.sleep(random.uniform(0.4, 1.4))
        (taken,) = await asyncio.to_thread(claim, worker, ["bench"])
        written[job_id, "running"] = time.monotonic()
        await asyncio.sleep(random.uniform(0.4, 1.4))
        await asyncio.to_thread(finish_one, Outcome.completed(taken.claim))
        written[job_id, "completed"] = time.monotonic()
        await asyncio.sleep(random.uniform(0.4, 1.4))
    await asyncio.sleep(2)
    for status in ("pending", "running", "completed"):
        show_latency(status, [(moment, arrived[key]) for key, moment in written.items() if key[1] == status], readers)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def show_latency(status: str, samples: list[tuple[float, list[float]]], readers: int) -> None:
    assert all(len(moments) >= readers for _, moments in samples), "a reader was not told"
    first = sorted(1000 * (min(moments) - written) for written, moments in samples)
    last = sorted(1000 * (sorted(moments)[readers - 1] - written) for written, moments in samples)
    print(
        f"commit -> {status}: the first reader after {statistics.median(first):.0f} ms (median), "
        f"all after {statistics.median(last):.0f} ms (median), {last[-1]:.0f} ms (slowest of {len(samples)})"
    )


def connections() -> int:
    """Of the web server: all but those of this process."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() "
            "AND application_name <> 'bench'"
        )
        return int(cursor.fetchone()[0])


async def pages(server: Server, cookie: str, path: str, number: int = 100, visitors: int = 4) -> float:
    """Requests a second."""

    async def visit() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=2**22)
        for _ in range(number // visitors):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: sessionid={cookie}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert b" 200 " in head.split(b"\r\n")[0], head
            await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        writer.close()

    await server.wait_until_it_answers()
    await asyncio.gather(*(visit() for _ in range(visitors)))  # warm up
    began = time.monotonic()
    await asyncio.gather(*(visit() for _ in range(visitors)))
    return number / (time.monotonic() - began)


def compare_pages(cookie: str) -> None:
    """In turns, so that whatever else the machine does hits all alike."""
    rates: dict[str, list[float]] = {}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(serving(command)) for name, command in {"ours": OURS, **OTHERS}.items()}
        for _ in range(ROUNDS):
            for name, server in servers.items():
                rates.setdefault(name, []).append(asyncio.run(pages(server, cookie, "/api/queue/depth")))
    for name, found in rates.items():
        print(f"{name}: {statistics.median(found):.0f} requests/s, {min(found):.0f} to {max(found):.0f}")


def session() -> str:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.create_superuser("bench", password=None))
    return client.cookies["sessionid"].value


def main() -> None:
    with Postgres(BENCHMARK_CONF) as database:
        os.environ |= {
            "DATABASE_URL": database.url() + "?application_name=bench",
            "DJANGO_SETTINGS_MODULE": "project.settings",
        }
        os.environ |= {
            "DEBUG": "0",
            "SECRET_KEY": "bench",
            "ALLOWED_HOSTS": "localhost",
            "HTTPS": "0",
            "LOG_LEVEL": "ERROR",
        }
        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        cookie = session()
        os.environ["DATABASE_URL"] = database.url()
        with serving(OURS) as server:
            asyncio.run(streams(server, cookie, int(sys.argv[1]) if len(sys.argv) > 1 else READERS))
        compare_pages(cookie)


if __name__ == "__main__":
    main()
