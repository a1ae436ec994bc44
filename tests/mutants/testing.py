"""Mistakes in `jobs.testing`: a helper that is wrong makes the tests of others pass."""

from tests.mutants.mutant import POSTGRES, Mutant

DRAIN, EXPECT = ("tests/testing/test_drain.py",), ("tests/testing/test_expectations.py",)
DRAINING, WORKER = "jobs/testing/draining.py", "jobs/testing/inline_worker.py"
ATTEMPT, HOME = "jobs/testing/attempt.py", "jobs/testing/home_thread.py"
TRANSACTIONS, EXPECTATIONS = "jobs/testing/transactions.py", "jobs/testing/expectations.py"
BY_ONE_TIME = "waiting.filter(run_after__lte=first.run_after)"

MUTANTS = [
    Mutant("testing: paused queues are brought forward", DRAINING, "filter(paused=True)", "none()", DRAIN),
    Mutant("testing: all times come at once", DRAINING, BY_ONE_TIME, "waiting", DRAIN),
    Mutant("testing: Ctrl-C is recorded", DRAINING, "(Exception, SystemExit)", "BaseException", DRAIN),
    Mutant("testing: more than it says", DRAINING, "len(ran) == MOST_JOBS", "len(ran) == MOST_JOBS + 1", DRAIN),
    Mutant("testing: the last RetryLater is no error", DRAINING, " and job.status != Status.FAILED", "", DRAIN),
    Mutant("testing: a hook that fails is no error", DRAINING, " or is_failed_hook(outcome, answer)", "", DRAIN),
    Mutant("testing: finds the workdir of another test", WORKER, ".count() == 1:", ".count() == 0:", DRAIN),
    Mutant("testing: too late is not noticed", WORKER, "            attempt.look()\n", "", DRAIN),
    Mutant("testing: a job over its time is completed", WORKER, "attempt.reason in DECIDED", "False", DRAIN),
    Mutant("testing: keeps the workdir", WORKER, "if answer.status in ends_workdir():", "if False:", DRAIN),
    Mutant("testing: keeps the scratch", WORKER, "            context.remove_scratch()\n", "", DRAIN),
    Mutant("testing: nobody looks for orders", ATTEMPT, "self.home.call(self.look)\n", "pass\n", DRAIN),
    Mutant("testing: the last progress is lost", WORKER, "            desk.flush()\n", "", DRAIN),
    Mutant("testing: other threads use their own connection", HOME, " and not in_event_loop()", "", DRAIN),
    Mutant("testing: on_commit is not heard", TRANSACTIONS, "execute=True", "execute=False", DRAIN),
    Mutant(
        "testing: on_commit is heard twice",
        TRANSACTIONS,
        "if is_of_testcase(wrapper.atomic_blocks[0])",
        "if True",
        DRAIN,
    ),
    Mutant(
        "testing: durable blocks are refused", TRANSACTIONS, "is_of_testcase(wrapper.atomic_blocks[-1])", "False", DRAIN
    ),
    Mutant(
        "testing: a failed statement breaks the test",
        TRANSACTIONS,
        "if is_broken(wrapper):",
        "if False:",
        DRAIN,
        POSTGRES,
    ),
    Mutant("testing: any payload fits", EXPECTATIONS, "[] if have == want and same else", "[] if True else", EXPECT),
    Mutant("testing: True is 1", EXPECTATIONS, "have == want and same", "have == want", EXPECT),
    Mutant("testing: a missing key fits", EXPECTATIONS, "return absent + [", "return [", EXPECT),
    Mutant(
        "testing: a kind that does not exist", EXPECTATIONS, "        registry.get(kind)\n", "        pass\n", EXPECT
    ),
    Mutant("testing: an option that does not exist", EXPECTATIONS, "expected.keys() - set(known)", "()", EXPECT),
    Mutant("testing: any time fits", EXPECTATIONS, "<= timedelta(seconds=within)", "<= timedelta(days=999)", EXPECT),
    Mutant("testing: any count fits", EXPECTATIONS, "len(found) != count)", "False)", EXPECT),
]
