"""The admin's list of jobs: how long its first byte takes beside a million others, and how many statements it is."""

from functools import partial

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchmarks.databases import Databases
from benchmarks.findings import Findings
from benchmarks.measure import interleave, timed
from benchmarks.scale import Scale
from jobs.models import Job

# Name, query. The last ones have no index and read until a page is full, or to the end.
PAGES = {
    "first page": "",
    "page in the middle": "before={middle}",
    "failed": "state=failed",
    "running": "state=running",
    "stalled": "state=stalled",
    "one queue": "queue=queue3",
    "one id": "q={middle}",
    "a queue that is not there": "queue=nowhere",
    "text that is nowhere": "q=nowhere+to+be+found",
}


def measure(databases: Databases, scale: Scale) -> Findings:
    found = Findings(f"The admin's list of jobs, {scale.finished:,} finished rows")
    with databases.using("full"):
        client = Client(SERVER_NAME="localhost")
        client.force_login(User.objects.create_superuser("bench", password=None))
        middle = Job.objects.order_by("pk").values_list("pk", flat=True)[scale.finished // 2]
        queries = {name: query.format(middle=middle) for name, query in PAGES.items()}
        sides = {name: partial(timed, partial(look, client, query)) for name, query in queries.items()}
        rounds = interleave(sides, rounds=scale.rounds, per_round=3, warm_up=1)
        for name, query in queries.items():
            found.milliseconds(f"{name} ({statements(client, query)} statements)", rounds, name)
        found.samples = rounds.as_microseconds()
    return found


def look(client: Client, query: str) -> None:
    assert client.get(f"{reverse('admin:jobs_job_changelist')}?{query}").status_code == 200


def statements(client: Client, query: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        look(client, query)
    return len(captured)
