"""Mutations of what workers write: the fence, the heartbeat, the start, the outcome, and who may end or undo it."""

from tests.mutants.mutant import POSTGRES, Edit, Mutant, lifecycle, races

JOB, FENCE, BEAT = "jobs/models/job.py", "jobs/lifecycle/fence.py", "jobs/lifecycle/heartbeat.py"
FINISH, START, MOVE = "jobs/lifecycle/finish.py", "jobs/lifecycle/start.py", "jobs/lifecycle/transition.py"
CANCEL, CLEAR, RETRY = "jobs/lifecycle/cancel.py", "jobs/lifecycle/clear.py", "jobs/lifecycle/retry.py"
CLAIM = "jobs/lifecycle/claim.py"
POLICY, ENDING, REPORT = "jobs/lifecycle/retry_policy.py", "jobs/lifecycle/ending.py", "jobs/lifecycle/report.py"
CRASHED, REPORTS, MOVES = lifecycle("crashed"), lifecycle("report", "unlisted_claims"), lifecycle("transition")
FENCED = lifecycle("fence", "finish", "finish_batch", "report", "start", "guards")
BEATS = lifecycle("heartbeat", "unlisted_claims")
WORKER_RACES = races("worker_races")
ENDS = lifecycle("finish", "finish_batch", "release", "cancel", "attempts", "guards")
ATTEMPTS = lifecycle("retry_policy", "attempts", "finish", "release", "reap")
HELD_BY = """mine = self.with_ids(job_ids).filter(Among("claim_id", claim_ids))
        return mine.filter(status=Status.RUNNING, lease_expires_at__gt=Now())"""
ITS_OWN_CLAIM = " and job.claim_id == claim.claim_id"
RUNS = 'Job.objects.filter(worker=Given("worker", Worker._meta.pk), status=Status.RUNNING)'
RENEWED = '{"lease_expires_at": Now() + F("lease"), "unlisted_beats": 0}'
ACCEPTED = "job_id__in=[c.job_id for c in claims], claim_id__in={c.claim_id for c in claims}"
KNOWN, OWN_KEY = "known = {(event.job_id, event.claim_id): event", "known.get((claim.job_id, claim.claim_id))"
CANCELLABLE = "filter(status__in=ACTIVE, cancel_requested_at=None)"

MUTANTS = [
    Mutant("held_by: any job", JOB, HELD_BY, HELD_BY.replace("self.with_ids(job_ids)", "self"), lifecycle("fence")),
    Mutant("held_by: any claim", JOB, HELD_BY, HELD_BY.replace('Among("claim_id", claim_ids)', ""), lifecycle("fence")),
    Mutant(
        "held_by: any status", JOB, HELD_BY, HELD_BY.replace("status=Status.RUNNING, ", ""), lifecycle("fence_alone")
    ),
    Mutant("held_by: any lease", JOB, HELD_BY, HELD_BY.replace(", lease_expires_at__gt=Now()", ""), FENCED),
    Mutant(
        "held_by: the clock of the statement's begin",
        JOB,
        HELD_BY,
        HELD_BY.replace("Now()", "StatementNow()"),
        races("lease_races"),
        POSTGRES,
    ),
    Mutant("lock_held: right job, wrong claim", FENCE, ITS_OWN_CLAIM, "", FENCED),
    Mutant("refusals: expired is lost", FENCE, "(ClaimExpired if now_held_by", "(ClaimLost if now_held_by", FENCED),
    Mutant("refusals: lost is expired", FENCE, "else ClaimLost)(", "else ClaimExpired)(", FENCED),
    Mutant(
        "lock: locks nothing",
        MOVE,
        '.order_by("id").select_for_update(no_key=True, skip_locked=skip_locked)',
        '.order_by("id")',
        races("cancel_races"),
        POSTGRES,
    ),
    Mutant(
        "move: any transition",
        MOVE,
        "if to not in TRANSITIONS[Status(job.status)]:",
        "if False:",
        lifecycle("transition"),
    ),
    Mutant(
        "move: what was moved meanwhile",
        "jobs/lifecycle/sql/together.py",
        "if done[place].number != rows:",
        "if False:",
        MOVES,
    ),
    Mutant(
        "move: in any status",
        MOVE,
        ', Among("status", GivenList("statuses")))',
        ")",
        MOVES,
        also=(Edit(MOVE, "held | Q(claim_id=None) if unclaimed else held", "held | Q(claim_id=None)"),),
    ),
    Mutant(
        "move: with any claim", MOVE, 'held = Q(Among("claim_id", GivenList("claims")))', "held = Q(pk__gt=0)", MOVES
    ),
    Mutant("report: proves nothing", REPORT, '"progressed_at": Now(), **KNOWN}', '"progressed_at": Now()}', REPORTS),
    Mutant("start: proves nothing", START, 'Now() + F("lease"), **KNOWN)', 'Now() + F("lease"))', REPORTS),
    Mutant("start: repeated, proves nothing", START, "mine.update(**KNOWN)", "pass", REPORTS),
    Mutant("report: what is too large is noted", REPORT, "if size > conf.MAX_RESULT:", "if False:", REPORTS),
    Mutant("report: any number of segments", REPORT, "2**15 - 1, 2**31 - 1", "2**15 - 1, 2**40", REPORTS, POSTGRES),
    Mutant("report: any weight", REPORT, "or not 0 < weight < math.inf:", "or not 0 < weight:", REPORTS),
    Mutant("report: a generator is used up", REPORT, ", phases=tuple(what.phases)", "", REPORTS),
    Mutant("heartbeat: renews what is not listed", BEAT, "locked.items() if ref in listed}", "locked.items()}", BEATS),
    Mutant(
        "heartbeat: waits for locked rows",
        BEAT,
        "locking(running(), skip_locked=True)",
        "locking(running())",
        WORKER_RACES,
        POSTGRES,
    ),
    Mutant("heartbeat: locked is lost", BEAT, "as_committed.items() if", "locked.items() if", WORKER_RACES, POSTGRES),
    Mutant(
        "heartbeat: renews claims of others",
        BEAT,
        RUNS,
        RUNS.replace('worker=Given("worker", Worker._meta.pk), ', ""),
        BEATS,
    ),
    Mutant(
        "heartbeat: renews what does not run",
        BEAT,
        RUNS,
        RUNS.replace(", status=Status.RUNNING", "") + ".exclude(claim_id=None)",
        lifecycle("fence_alone"),
    ),
    Mutant(
        "heartbeat: renews nothing",
        BEAT,
        RENEWED,
        '{"unlisted_beats": 0}',
        BEATS,
    ),
    Mutant(
        "heartbeat: listed beats are not forgiven",
        BEAT,
        RENEWED,
        '{"lease_expires_at": Now() + F("lease")}',
        BEATS,
    ),
    Mutant("unlisted: while a claim is being made", BEAT, " if lists_all else []", "", BEATS),
    Mutant(
        "claim: what is handed over again is not renewed",
        CLAIM,
        "    if jobs:\n        renewal()",
        "    if False:\n        renewal()",
        lifecycle("unlisted_claims"),
    ),
    Mutant(
        "finish: one locked row holds up all",
        FINISH,
        "    except LockKept:\n        return finish_free(outcomes)",
        "    except LockKept as kept:\n        raise kept.__cause__ or kept",
        races("lock_wait"),
        POSTGRES,
    ),
    Mutant(
        "finish: limits wait for hooks",
        FINISH,
        "    answers = answer_strays(",
        "    limits.hold_still(jobs)\n    answers = answer_strays(",
        races("lock_wait"),
        POSTGRES,
    ),
    Mutant("unlisted: what is listed, too", BEAT, " if ref not in listed]", "]", BEATS),
    Mutant("unlisted: not counted", BEAT, 'F("unlisted_beats") + 1', 'F("unlisted_beats")', BEATS),
    Mutant("heartbeat: undoes disabled", BEAT, "if worker.status != WorkerStatus.DISABLED:", "if True:", BEATS),
    Mutant(
        "start: although cancelled", START, "if job.cancel_requested_at:", "if False:", lifecycle("start", "cancel")
    ),
    Mutant("start: charged again when repeated", START, "if job.has_started:", "if False:", lifecycle("start")),
    Mutant(
        "stray: answered by job alone",
        FINISH,
        ACCEPTED,
        "job_id__in=[c.job_id for c in claims]",
        FENCED,
        also=(
            Edit(FINISH, KNOWN, "known = {event.job_id: event"),
            Edit(FINISH, OWN_KEY, "known.get(claim.job_id)"),
        ),
    ),
    Mutant(
        "stray: answered by claim alone",
        FINISH,
        ACCEPTED,
        "claim_id__in={c.claim_id for c in claims}",
        FENCED,
        also=(
            Edit(FINISH, KNOWN, "known = {event.claim_id: event"),
            Edit(FINISH, OWN_KEY, "known.get(claim.claim_id)"),
        ),
    ),
    Mutant("stray: any event is an outcome", FINISH, '.exclude(outcome="")', "", FENCED),
    Mutant(
        "finish: the second of a batch counts, too",
        FINISH,
        "held.pop(outcome.claim, None)",
        "held.get(outcome.claim)",
        FENCED,
    ),
    Mutant(
        "finish: cancel request is forgotten",
        FINISH,
        "if job.cancel_requested_at or outcome.verdict",
        "if outcome.verdict",
        ENDS,
    ),
    Mutant(
        "finish: an outage speaks against the outcome",
        FINISH,
        "if blames_database(error):\n            raise\n        if len(",
        "if False:\n            raise\n        if len(",
        lifecycle("finish_batch"),
    ),
    Mutant(
        "finish: what cannot be written is not charged",
        "jobs/lifecycle/unwritten.py",
        "Job.objects.with_ids(job.pk for job in held.values()).update(worker_id=NO_WORKER)",
        "pass",
        lifecycle("finish_batch"),
    ),
    Mutant("backoff: one row stops all", POLICY, "except InvalidInput:\n", "except ():\n", ATTEMPTS),
    Mutant("finish: the worker alone cancels", FINISH, "if not job.cancel_requested_at:", "if False:", ENDS),
    Mutant(
        "finish: a completion after a request is cancelled",
        FINISH,
        "    if outcome.verdict == Verdict.COMPLETED:",
        "    if outcome.verdict == Verdict.COMPLETED and not job.cancel_requested_at:",
        ENDS,
    ),
    Mutant("release: charged", ENDING, "charge=-1 if job.has_started else 0", "charge=0", ENDS),
    Mutant(
        "release: gives back what was not charged", ENDING, "charge=-1 if job.has_started else 0", "charge=-1", ENDS
    ),
    Mutant("crash: is a failure", FINISH, "if outcome.verdict == Verdict.CRASHED:", "if False:", CRASHED),
    Mutant(
        "crash: charged although it never began",
        FINISH,
        "    if job.has_started:\n        return charged_for_crash",
        "    if True:\n        return charged_for_crash",
        CRASHED,
    ),
    Mutant("crash: not counted", ENDING, 'F("crashes") + self.crashes', 'F("crashes")', CRASHED),
    Mutant("crash: never ends", ENDING, "if not decision.retry:", "if False:", CRASHED),
    Mutant(
        "fail: RetryLater(count=False) is charged",
        FINISH,
        "charge = unmarked if outcome.count else unmarked - 1",
        "charge = unmarked",
        ENDS,
    ),
    Mutant(
        "fail: gives back what was not charged",
        FINISH,
        "charge = unmarked if outcome.count else unmarked - 1",
        "charge = unmarked if outcome.count else -1",
        ENDS,
    ),
    Mutant(
        "fail: gives everything back",
        FINISH,
        "charge = unmarked if outcome.count else unmarked - 1",
        "charge = unmarked - 1",
        ENDS,
    ),
    Mutant(
        "fail: what was not marked is free",
        FINISH,
        "unmarked = int(not job.has_started)",
        "unmarked = 0",
        lifecycle("hostile_waits"),
    ),
    Mutant("policy: one attempt more", POLICY, "attempt >= max_attempts", "attempt > max_attempts", ATTEMPTS),
    Mutant("policy: one attempt less", POLICY, "attempt >= max_attempts", "attempt + 1 >= max_attempts", ATTEMPTS),
    Mutant("policy: fatal is tried again", POLICY, "if fatal or (count", "if (count", ATTEMPTS),
    Mutant("policy: uncounted ones are counted", POLICY, "(count and attempt", "(attempt", ATTEMPTS),
    Mutant(
        "policy: the first crash waits", POLICY, "decision.retry and crashes == 0", "decision.retry and False", ATTEMPTS
    ),
    Mutant("policy: no crash waits", POLICY, "decision.retry and crashes == 0", "decision.retry", ATTEMPTS),
    Mutant("cancel: what has ended", CANCEL, CANCELLABLE, "filter(cancel_requested_at=None)", lifecycle("cancel")),
    Mutant("cancel: what was asked before", CANCEL, CANCELLABLE, "filter(status__in=ACTIVE)", lifecycle("cancel")),
    Mutant("clear: what has not ended", CLEAR, "Q(status__in=TERMINAL)", "Q(pk__gt=0)", lifecycle("clear")),
    Mutant(
        "retry: what was completed",
        RETRY,
        "RETRYABLE = (Status.FAILED, Status.CANCELLED)",
        "RETRYABLE = TERMINAL",
        lifecycle("retry"),
    ),
    Mutant(
        "retry: attempts stay used up",
        RETRY,
        '"attempt": 0, "started_at": None',
        '"started_at": None',
        lifecycle("retry"),
    ),
    Mutant("retry: the cancel request stays", RETRY, ', "cancel_requested_at": None', "", lifecycle("retry")),
    Mutant(
        "requeue: what has not ended",
        RETRY,
        "(list(ids)).filter(status__in=TERMINAL)",
        "(list(ids))",
        lifecycle("retry"),
    ),
]
