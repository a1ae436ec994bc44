"""Mutations of limits: how many may run, who is held back, and who is let go when."""

from tests.mutants.mutant import POSTGRES, Mutant, lifecycle, races

LIMITS, POLICY, TAKING = "jobs/lifecycle/limits.py", "jobs/lifecycle/limit_policy.py", "jobs/lifecycle/candidates.py"
JOB, CLAIM = "jobs/models/job.py", "jobs/lifecycle/claim.py"
TESTS, RACES = lifecycle("limits"), races("limit_races")
FIRST_LOCK = "found = list(rows.select_for_update(no_key=True))"

MUTANTS = [
    Mutant("limit: one more", POLICY, "limit.max_running - running)", "limit.max_running - running + 1)", TESTS),
    Mutant("limit: not for those of one claim", LIMITS, "self.rooms[name].jobs -= 1", "pass", TESTS),
    Mutant("limit: without a lock", LIMITS, FIRST_LOCK, "found = list(rows)", RACES, POSTGRES),
    Mutant(
        "limit: who holds one waits for another",
        LIMITS,
        "select_for_update(no_key=True, skip_locked=True)}",
        "select_for_update(no_key=True)}",
        RACES,
        POSTGRES,
    ),
    Mutant(
        "limit: held back for good",
        LIMITS,
        "    let_go_all(gate)\n    gate.settle()\n\n\ndef let_go_all",
        "    gate.settle()\n\n\ndef let_go_all",
        TESTS,
    ),
    Mutant(
        "limit: what is behind waits, too", TAKING, "for round_ in range(ROUNDS):", "for round_ in range(1):", TESTS
    ),
    Mutant(
        "limit: no hold", LIMITS, 'Job.objects.bulk_update(rows, ["hold", "held_by"], batch_size=500)', "pass", TESTS
    ),
    Mutant(
        "limit: others are left where one is held back",
        LIMITS,
        "for other in names_of(job) if self.has_room(other)",
        "for other in () if self.has_room(other)",
        TESTS,
    ),
    Mutant(
        "limit: a cancelled one keeps its place",
        LIMITS,
        "job.status == Status.RUNNING or job.hold == Hold.NONE",
        "job.status == Status.RUNNING",
        TESTS,
    ),
    Mutant(
        "limit: the general one first",
        LIMITS,
        "(not limit.is_of_each, len(limit.name))",
        "(limit.is_of_each, len(limit.name))",
        TESTS,
    ),
    Mutant("limit: nobody sweeps", "jobs/lifecycle/reap.py", "    limits.sweep()\n", "", TESTS),
    Mutant("limit: a hold without a limit stays", LIMITS, "let_go(name, math.inf)", "0", TESTS),
    Mutant(
        "limit: who is moved stays held", "jobs/lifecycle/move_to_queue.py", "    limits.drop_holds(jobs)\n", "", TESTS
    ),
    Mutant(
        "limit: whose priority changes stays held",
        "jobs/lifecycle/prioritise.py",
        "    limits.drop_holds(changed)\n",
        "",
        TESTS,
    ),
    Mutant(
        "rate: what ended is forgotten",
        LIMITS,
        "limit.starts = with_starts(limit, self.now, self.started.pop(limit.pk))",
        "pass",
        TESTS,
    ),
    Mutant("rate: for ever", POLICY, "if when > since]", "]", TESTS),
    Mutant("rate: nobody knows when it opens", LIMITS, "opens[limit.pk] = room.opens_at", "pass", TESTS),
    Mutant("rate: a busy queue opens nothing", CLAIM, "(not jobs or jobs[0].opening)", "not jobs", TESTS),
    Mutant("hours: always", POLICY, "if not window.is_open(local):", "if False:", TESTS),
    Mutant("pause: nothing", POLICY, "if limit.paused:", "if False:", TESTS),
    Mutant(
        "limit: every job is asked about",
        JOB,
        "When(~Exists(Limit.objects.all()), then=Value(False)),",
        "When(Q(pk__gt=0), then=Value(True)),",
        TESTS,
    ),
]
