"""Mutations of the statement by which most jobs are claimed: where one is not plain, none is taken."""

from tests.mutants.mutant import POSTGRES, Mutant, lifecycle, races

PLAIN, HEADS, TESTS = "jobs/lifecycle/plain_claim.py", "jobs/models/ready_heads.py", lifecycle("plain_claim")
CLAIM, WAITS, SILENCE = "jobs/lifecycle/claim.py", "jobs/lock_waits.py", races("lock_wait")
ODD = "limited OR others_are_due OR opening OR progressed_at IS NOT NULL"
RUNNING_BEFORE = " + (SELECT COUNT(*) FROM {job} WHERE worker_id = %s::uuid)"

MUTANTS = [
    Mutant("plain: what is limited, too", PLAIN, ODD, ODD.replace("limited OR ", ""), TESTS, POSTGRES),
    Mutant("plain: before those that are due", PLAIN, ODD, ODD.replace("others_are_due OR ", ""), TESTS, POSTGRES),
    Mutant("plain: before a limit opens", PLAIN, ODD, ODD.replace("opening OR ", ""), TESTS, POSTGRES),
    Mutant(
        "plain: what is resumed, too", PLAIN, ODD, ODD.replace(" OR progressed_at IS NOT NULL", ""), TESTS, POSTGRES
    ),
    Mutant("plain: what crashed, too", PLAIN, "OR crashes > 0 OR", "OR", TESTS, POSTGRES),
    Mutant("plain: the last attempt, too", PLAIN, "max_attempts <= attempt + 1", "FALSE", TESTS, POSTGRES),
    Mutant("plain: what needs a process, too", PLAIN, "OR kind = ANY(%s)", "OR %s::text[] IS NULL", TESTS, POSTGRES),
    Mutant("plain: though the call is used up", PLAIN, " WHERE EXISTS (SELECT 1 FROM used)", "", TESTS, POSTGRES),
    Mutant("plain: busy by these alone", PLAIN, RUNNING_BEFORE, " + 0 * LENGTH(%s::text)", TESTS, POSTGRES),
    Mutant("plain: nobody is told", PLAIN, "        wake_up.send_to(", "        set(", TESTS, POSTGRES),
    Mutant("plain: not charged", PLAIN, '"attempt": ONE_MORE if start', '"attempt": SAME if start', TESTS, POSTGRES),
    Mutant(
        "plain: not counted as it is", PLAIN, "subject, attempt + 1, most", "subject, attempt, most", TESTS, POSTGRES
    ),
    Mutant("plain: paused, too", HEADS, " {served} ORDER BY place", " ORDER BY place", TESTS, POSTGRES),
    Mutant("plain: in any order", HEADS, "ORDER BY place LIMIT 1", "ORDER BY place DESC LIMIT 1", TESTS, POSTGRES),
    Mutant(
        "plain: the least urgent", HEADS, "priority DESC, {since} LIMIT 1", "priority, {since} LIMIT 1", TESTS, POSTGRES
    ),
    Mutant(
        "habit: always",
        "jobs/lifecycle/claim.py",
        "job.limited or job.progressed_at or room.weight_of(job)",
        "False",
        TESTS,
        POSTGRES,
    ),
    Mutant(
        "habit: of one queue alone",
        CLAIM,
        "all_of_it=len(taken) == limit or len(queues) == 1",
        "all_of_it=True",
        TESTS,
        POSTGRES,
    ),
    Mutant("habit: nothing is wrong", CLAIM, "if tried and jobs:", "if tried:", TESTS, POSTGRES),
    Mutant("habit: never wrong", CLAIM, "if tried and jobs:", "if False:", TESTS, POSTGRES),
    Mutant(
        "silence: for ever", WAITS, '"idle_in_transaction_session_timeout": f"{SILENCE_MS}ms", ', "", SILENCE, POSTGRES
    ),
    Mutant("silence: not in a hook", "jobs/lifecycle/hooks.py", "    allow_silence()\n", "", SILENCE, POSTGRES),
    Mutant(
        "clerk: takes an expired claim for lost",
        "jobs/worker/renewals.py",
        "return not self.persist.give_up.wait(pause)",
        "return False",
        ("tests/worker/test_clerk.py",),
    ),
    Mutant(
        "checker: what changes is remembered",
        "jobs/lifecycle/checker.py",
        "type(new.after) is not tuple",
        "False",
        lifecycle("checker"),
    ),
]
