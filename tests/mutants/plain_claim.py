"""Mutations of the statement by which most jobs are claimed: where one is not plain, none is taken."""

from tests.mutants.mutant import POSTGRES, Mutant, lifecycle

PLAIN, HEADS, TESTS = "jobs/lifecycle/plain_claim.py", "jobs/models/ready_heads.py", lifecycle("plain_claim")
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
]
