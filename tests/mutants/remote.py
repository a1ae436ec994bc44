"""Mutations of what keeps remote workers apart: keys, processes, whose job it is, limits, and the grace."""

from tests.mutants.mutant import Mutant

ACCESS, WHO, BUDGETS = (f"jobs/api/worker/{name}.py" for name in ("access", "authentication", "budgets"))
OWNS, WORKERS, KEYS = (f"jobs/lifecycle/{name}.py" for name in ("ownership", "remote_workers", "worker_keys"))
GRACE, LINE, TAKE = (f"jobs/lifecycle/{name}.py" for name in ("grace", "line", "call_budget"))
SPAWN = "jobs/lifecycle/spawn.py"
EDGE, BEATS, GIVES = (f"jobs/api/worker/{name}.py" for name in ("asgi", "beating", "claiming"))
SILENT, CAME_UP = "if silent_for < patience else None", "if silent_from is not None and up_for"
CALLS, STARTS, LIMITS, GRACES, KEYED, WAITS = (
    (f"tests/api/worker/test_{name}.py",) for name in ("calls", "processes", "limits", "grace", "keys", "waiting")
)

MUTANTS = [
    Mutant("worker key: revoked and expired ones count", WHO, "    if key.problem:", "    if False:", KEYED),
    Mutant("worker key: any process speaks", WHO, "    if told == worker.process_uuid:", "    if True:", STARTS),
    Mutant("worker key: rotation ends none", KEYS, ".update(expires_at=end)", ".count()", KEYED),
    Mutant("worker: jobs of others", ACCESS, "claim not in owned(worker_of(request).pk, [claim])", "False", CALLS),
    Mutant("worker: claims of others", OWNS, "claim_id__in=ids, worker_id=worker_id", "claim_id__in=ids", CALLS),
    Mutant("worker: claims on other jobs", OWNS, "tuple(claim) in told", "True", CALLS),
    Mutant("worker: takes over from the living", WORKERS, "at_work and heard_lately and not is_here", "False", STARTS),
    Mutant("worker: its predecessor keeps its jobs", WORKERS, "claimed_at__lt=worker.started_at", "pk=0", STARTS),
    Mutant("worker: a repeated start takes its own jobs", WORKERS, ", claimed_at__lt=worker.started_at", "", STARTS),
    Mutant("worker: a late stop", WORKERS, "worker.process_uuid not in (None, process)", "False", STARTS),
    Mutant(
        "heartbeat: one report for all", BEATS, "(ClaimLost, ClaimExpired, JobLocked, InvalidInput)", "ClaimLost", CALLS
    ),
    Mutant("heartbeat: refused is lost", BEATS, "isinstance(error, ClaimLost)", "True", CALLS),
    Mutant("spawn: any kind", SPAWN, "order.kind not in allowed", "False", CALLS),
    Mutant("spawn: any option", SPAWN, "NOT_REMOTE.intersection(order.options)", "[]", CALLS),
    Mutant("spawn: who calls is believed", "jobs/api/worker/job_calls.py", ", remote=True", "", CALLS),
    Mutant("worker: kinds it cannot run", LINE, "    if choosy:", "    if False:", CALLS),
    Mutant("worker: hooks that are unknown here", GIVES, "not (more or registry.broken())", "True", CALLS),
    Mutant("worker: hooks that may be unknown here", GIVES, "(more or registry.broken())", "more", CALLS),
    Mutant("limit: each process for itself", TAKE, "limit - budget.taken", "limit", LIMITS),
    Mutant("limit: wrong keys for ever", WHO, "conf.WORKER_WRONG_KEYS", "0", LIMITS),
    Mutant("grace: not while the API is silent", GRACE, SILENT, "if False else None", GRACES),
    Mutant("grace: for ever", GRACE, SILENT, "", GRACES),
    Mutant("grace: not after the API came up", GRACE, CAME_UP, "if False and up_for", GRACES),
    Mutant("waiting: who hung up is given a job", EDGE, "return gone.done()", "return False", WAITS),
]
