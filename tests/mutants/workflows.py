"""Mutations of workflows: who is let go when, policies, what is spawned once, circles, and what heals."""

from tests.mutants.mutant import POSTGRES, Edit, Mutant, lifecycle, races

WAITING, TRANSITION, SPAWN = (f"jobs/lifecycle/{name}.py" for name in ("waiting", "transition", "spawn"))
DEPENDENCY, INSERT = "jobs/models/dependency.py", "jobs/lifecycle/sql/insert_jobs.py"
CLEAR = "jobs/lifecycle/clear.py"
WAITS, RACES = lifecycle("waiting"), races("waiting_races")
FLOWS = ("tests/testing/test_workflows.py",)

MUTANTS = [
    Mutant("waiting: claimed all the same", INSERT, "CASE WHEN {values['waits_for']} > 0", "CASE WHEN 1 > 2", WAITS),
    Mutant("waiting: one of them is enough", WAITING, "elif not unfinished[job.pk]:", "else:", WAITS),
    Mutant("waiting: what is gone is waited for", WAITING, "if missing := sorted(", "if missing := 0 and (", WAITS),
    Mutant("waiting: an end from before is not seen", WAITING, 'status if status in TERMINAL else ""', '""', WAITS),
    Mutant(
        "waiting: the mark is forgotten", WAITING, "needed.filter(awaited=False).update(awaited=True)", "pass", WAITS
    ),
    Mutant(
        "waiting: all ends are looked at",
        WAITING,
        "for job in jobs if job.awaited]\n    if",
        "for job in jobs]\n    if",
        WAITS,
        also=(Edit(TRANSITION, "if to in TERMINAL and any(job.awaited for job in jobs):", "if to in TERMINAL:"),),
    ),
    Mutant(
        "waiting: the needed are not locked",
        WAITING,
        'needed.order_by("id").select_for_update(no_key=True).values_list',
        'needed.order_by("id").values_list',
        RACES,
        POSTGRES,
        also=(Edit(WAITING, "needed.filter(awaited=False).update(awaited=True)", "pass"),),
    ),
    Mutant(
        "waiting: those locked are forgotten",
        WAITING,
        "if not patient else []\n    if rest",
        "if False else []\n    if rest",
        RACES,
        POSTGRES,
    ),
    Mutant(
        "waiting: the end waits for locks", WAITING, "skip_locked=not patient", "skip_locked=False", RACES, POSTGRES
    ),
    Mutant("waiting: only the first thousand", WAITING, "*job_ids[AT_ONCE:]]:", "]:", WAITS),
    Mutant("waiting: cancel means fail", WAITING, "broken.policy == OnParentFailure.FAIL", "broken.policy", WAITS),
    Mutant("waiting: run means cancel", DEPENDENCY, ".exclude(policy=OnParentFailure.RUN)", "", WAITS),
    Mutant(
        "waiting: failures pass", DEPENDENCY, '["", Status.COMPLETED])', '["", Status.COMPLETED, Status.FAILED])', WAITS
    ),
    Mutant(
        "waiting: who ends ends nobody",
        TRANSITION,
        "found.update(waiting.note_end(doomed.jobs, doomed.to))",
        "pass",
        WAITS,
    ),
    Mutant(
        "waiting: its time does not count",
        WAITING,
        "When(run_after__gt=Now(), then=Value(Hold.SCHEDULED))",
        "When(run_after__gt=Now(), then=Value(Hold.NONE))",
        WAITS,
    ),
    Mutant(
        "waiting: in line since it was enqueued", WAITING, 'Greatest(F("run_after"), Now())', 'F("run_after")', WAITS
    ),
    Mutant(
        "waiting: a retry forgets", WAITING, 'if job.awaited]).update(ended="")', 'if False]).update(ended="")', WAITS
    ),
    Mutant("waiting: rows are left behind", CLEAR, "QualityProgress, Dependency)\n", "QualityProgress)\n", WAITS),
    Mutant("mend: ends are not found", WAITING, "for status in TERMINAL:", "for status in ():", WAITS),
    Mutant(
        "mend: the deleted are waited for", WAITING, "open_.filter(~Exists(needed)).update(ended=GONE)", "pass", WAITS
    ),
    Mutant("mend: broken ones wait on", WAITING, " | Exists(mine.broken())", "", WAITS),
    Mutant("suspend: for strangers", WAITING, "number != len(set(needs)):", "False:", FLOWS),
    Mutant("suspend: round for ever", WAITING, "not has_news(job, chosen)", "False", FLOWS),
    Mutant("suspend: always for all", WAITING, "else spawned.filter(needs__in=needs)", "else spawned", FLOWS),
    Mutant("spawn: again and again", SPAWN, "if key not in known:", "if True:", FLOWS),
    Mutant("spawn: circles by keys", SPAWN, "if checked.dedupe_key is not None:", "if False:", FLOWS),
    Mutant("spawn: circles by after", SPAWN, "if not set(checked.terms.after) <= set(siblings):", "if False:", FLOWS),
    Mutant(
        "retry: failed children stay",
        WAITING,
        'spawned.exclude(ended__in=["", Status.COMPLETED])',
        "spawned.none()",
        FLOWS,
    ),
    Mutant("cancel: children run on", "jobs/lifecycle/cancel.py", "    cancel_children([", "    list([", FLOWS),
    Mutant(
        "batch: ends whatever happens",
        "jobs/lifecycle/batch.py",
        "on_parent_failure=WHEN[when]",
        "on_parent_failure=OnParentFailure.RUN",
        FLOWS,
    ),
]
