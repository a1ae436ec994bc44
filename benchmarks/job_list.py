"""The list of jobs and the dashboard: how long the first byte takes beside a million jobs, in how many statements."""

from functools import partial

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.databases import Databases
from benchmarks.findings import Findings
from benchmarks.measure import interleave, timed
from benchmarks.scale import Scale
from jobs.models import Job

LIST = "/admin/jobs/job/"
# The last ones have no index and read until a page is full, to the end, or for as long as people wait.
PAGES = {
    "dashboard": "/dashboard/",
    "dashboard, what changes": "/dashboard/?part",
    "/metrics": "/metrics",
    "first page": LIST,
    "page in the middle": f"{LIST}?before={{middle}}",
    "failed": f"{LIST}?state=failed",
    "running": f"{LIST}?state=running",
    "stalled": f"{LIST}?state=stalled",
    "one queue": f"{LIST}?queue=queue3",
    "one id": f"{LIST}?q={{middle}}",
    "a queue that is not there": f"{LIST}?queue=nowhere",
    "a kind that is not there": f"{LIST}?kind=nowhere",
    "a worker that did nothing": f"{LIST}?worker=00000000-0000-4000-8000-00000000000f",
    "text that is nowhere": f"{LIST}?q=nowhere+to+be+found",
}


def measure(databases: Databases, scale: Scale) -> Findings:
    found = Findings(f"The admin's list of jobs and the dashboard, {scale.finished:,} finished rows")
    with databases.using("full"):
        client = Client(SERVER_NAME="localhost")
        client.force_login(User.objects.create_superuser("bench", password=None))
        middle = Job.objects.order_by("pk").values_list("pk", flat=True)[scale.finished // 2]
        pages = {name: address.format(middle=middle) for name, address in PAGES.items()}
        sides = {name: partial(timed, partial(look, client, address)) for name, address in pages.items()}
        rounds = interleave(sides, rounds=scale.rounds, per_round=3, warm_up=1)
        for name, address in pages.items():
            found.milliseconds(f"{name} ({statements(client, address)} statements)", rounds, name)
        found.samples = rounds.as_microseconds()
    return found


def look(client: Client, address: str) -> None:
    assert client.get(address, secure=True).status_code == 200


def statements(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        look(client, address)
    return len(captured)
