"""Mutations of periodic jobs: each tick once, no flood, edits against the code, who may tick what."""

from tests.mutants.mutant import POSTGRES, Edit, Mutant, lifecycle, races

TICK, CATCH_UP = "jobs/lifecycle/periodic/tick.py", "jobs/lifecycle/periodic/catch_up.py"
SYNC, EDIT, ROWS = (f"jobs/lifecycle/periodic/{name}.py" for name in ("sync", "edit", "rows"))
SCHEDULES = "jobs/handlers/schedules.py"
TICKS, SYNCS, RACES = lifecycle("periodic_tick"), lifecycle("periodic_sync"), races("tick_races")
LOCKED = "due.select_for_update(skip_locked=True, no_key=True).first()"
KEY = "dedupe_key=key, unique=Unique.EVER"

MUTANTS = [
    Mutant(
        "tick: neither lock nor key",
        TICK,
        LOCKED,
        "due.first()",
        RACES,
        POSTGRES,
        also=(Edit(TICK, f"enqueue_for(row, {KEY})", "enqueue_for(row)"),),
    ),
    Mutant("tick: waits for the lock", TICK, "skip_locked=True, ", "", RACES, POSTGRES),
    Mutant("tick: no key for ever", TICK, KEY, "dedupe_key=None", (*TICKS, *SYNCS)),
    Mutant("tick: what is not due", TICK, "name=name, next_at__lte=Now()", "name=name", TICKS),
    Mutant("tick: the next is not planned", TICK, "row.next_at = schedule.after(row.now)", "pass", TICKS),
    Mutant(
        "tick: kinds of others, too",
        TICK,
        ".filter(kind__in=[kind.name for kind in registry])",
        "",
        TICKS,
    ),
    Mutant("tick: overlaps", TICK, "if row.overlap:", "if True:", TICKS),
    Mutant("tick: only the last job counts", TICK, " | Q(pk__in=of_ticks)", "", TICKS),
    Mutant("tick: only jobs of kept ticks count", TICK, "Q(pk=row.last_job_id) | ", "", TICKS),
    Mutant("tick: an outage is swallowed", TICK, "if is_passing(error):", "if False:", TICKS),
    Mutant("tick: one that breaks breaks all", TICK, "except Exception as error:", "except () as error:", TICKS),
    Mutant("tick: history without end", TICK, "tick_at__lt=oldest_kept).delete()", "pk=0).delete()", TICKS),
    Mutant("missed: no limit", CATCH_UP, "max(1, limit) if", "10_000 if", TICKS),
    Mutant("missed: none means one", CATCH_UP, "mode == CatchUp.NONE and ", "False and ", TICKS),
    Mutant("missed: late is missed", CATCH_UP, "> grace", "> 0 * grace", TICKS),
    Mutant("missed: told of nothing", CATCH_UP, "if some_left_out else None", "if False else None", TICKS),
    Mutant("sync: edits are lost", SYNC, "if term not in row.edited:", "if True:", SYNCS),
    Mutant("sync: never gone", SYNC, "            retire(row)", "            pass", SYNCS),
    Mutant("sync: gone although its kind is unknown here", SYNC, " and row.kind in kinds", "", SYNCS),
    Mutant("sync: those made by hand vanish", SYNC, "row.declared is not None and ", "", SYNCS),
    Mutant("sync: starts collide", SYNC, "new, ignore_conflicts=True", "new", RACES, POSTGRES),
    Mutant("edit: the schedule stays planned", ROWS, " or times_of(row) != before", "", (*TICKS, *SYNCS)),
    Mutant(
        "edit: missed ticks are forgotten",
        ROWS,
        "if row.next_at is None or times_of(row) != before:",
        "if True:",
        SYNCS,
    ),
    Mutant("edit: what is gone ticks", ROWS, "row.enabled and row.gone_at is None", "row.enabled", SYNCS),
    Mutant(
        "edit: the code's are removed",
        EDIT,
        "if row.declared is not None and row.gone_at is None:",
        "if False:",
        SYNCS,
    ),
    Mutant("run now: overlaps", EDIT, "if busy := unended_job(row):", "if busy := None:", TICKS),
    Mutant(
        "schedule: the first of two equal hours again",
        SCHEDULES,
        "if tick > last:",
        "if True:",
        ("tests/handlers/test_schedules.py",),
    ),
]
