"""Mutations of who may call the HTTP API, and of what it takes for true."""

from tests.mutants.mutant import Mutant

ADMISSION, WHO, SECRETS = "jobs/api/admission.py", "jobs/api/authentication.py", "jobs/models/secret.py"
ACCESS, BEARERS, ERRORS = ("tests/api/test_access.py",), ("tests/api/test_tokens.py",), ("tests/api/test_errors.py",)
BULK, ACTIONS, READS = "jobs/api/queue/bulk.py", ("tests/api/test_actions.py",), ("tests/api/test_reads.py",)
WALK, PAGES = "jobs/selectors/walking.py", ("tests/selectors/test_job_pages.py",)
COUNTS, METRICS = "jobs/lifecycle/counts.py", ("tests/monitoring/test_metrics.py",)
DEPTH = '"pending": depth.pending + depth.scheduled,'

NONE, SESSION = "    if token is None:\n", "    if token is None:\n        return None\n"

MUTANTS = [
    Mutant("admit: not only staff", ADMISSION, "if staff and not caller.user.is_staff:", "if False:", ACCESS),
    Mutant("admit: any permission", ADMISSION, "if permissions and not any(", "if False and not any(", ACCESS),
    Mutant("admit: no CSRF token needed", ADMISSION, "if caller.by_cookie and request", "if False and request", ACCESS),
    Mutant("admit: any type of body", ADMISSION, "if only_type and length_of(request):", "if False:", ACCESS),
    Mutant("admit: any size of body", ADMISSION, "if largest and length > largest:", "if False:", ERRORS),
    Mutant("token: the prefix is enough", SECRETS, "if is_secret_of(row.digest, text)]", "]", BEARERS),
    Mutant("token: revoked and expired ones count", WHO, "    if token.problem:", "    if False:", BEARERS),
    Mutant("token: of an inactive user", WHO, "if not token.user.is_active:", "if False:", BEARERS),
    Mutant("token: a wrong one falls back to the session", WHO, NONE, SESSION, BEARERS),
    Mutant("token: each use is written", WHO, "    if not token.noted:", "    if True:", BEARERS),
    Mutant("depth: pending without scheduled", "jobs/api/documents.py", DEPTH, '"pending": depth.pending,', READS),
    Mutant("bulk: time is never up", BULK, "if monotonic() > until:", "if False:", ACTIONS),
    Mutant("bulk: of any queue", BULK, "statuses=(status,), queue=queue)", "statuses=(status,))", ACTIONS),
    Mutant("walk: it never stops", WALK, "if monotonic() - began > PATIENCE:", "if False:", PAGES),
    Mutant("walk: one id is passed over", WALK, "pk__gte=further", "pk__gt=further", PAGES),
    Mutant("metrics: queues with jobs are forgotten", COUNTS, "exclude(jobs=0)", "none()", METRICS),
    Mutant(
        "metrics: queues of this week are forgotten", COUNTS, "MinuteTally.objects.all()", "holding.none()", METRICS
    ),
    Mutant("metrics: each failure used its attempts up", COUNTS, " and job.attempt >= job.max_attempts", "", METRICS),
]
