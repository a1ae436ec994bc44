"""Mutations of what is called past all cursors, of what many of a kind go in by, and of how a child is spoken to."""

from tests.mutants.mutant import POSTGRES, Mutant, lifecycle

DIRECT, TESTS = "jobs/lifecycle/sql/direct.py", lifecycle("direct")
MANY, MANY_TESTS = "jobs/lifecycle/enqueue_many.py", lifecycle("enqueue_many")
PIPES, PIPE_TESTS = "jobs/worker/pipes.py", ("tests/worker/test_pipes.py",)
CHECKER = "jobs/lifecycle/checker.py"
IN_TRANSACTION = "driver.autocommit or driver.pgconn.transaction_status == pq.TransactionStatus.INTRANS"

MUTANTS = [
    Mutant("direct: without a transaction", DIRECT, IN_TRANSACTION, "True", TESTS, POSTGRES),
    Mutant("direct: unseen by wrappers", DIRECT, "wrapper.execute_wrappers or ", "", TESTS, POSTGRES),
    Mutant("direct: unseen in the log", DIRECT, " or wrapper.queries_logged", "", TESTS, POSTGRES),
    Mutant(
        "direct: in a broken transaction", DIRECT, "    wrapper.validate_no_broken_transaction()\n", "", TESTS, POSTGRES
    ),
    Mutant(
        "direct: with any plan", DIRECT, "all(may_keep(each, begins) for each in statements)", "True", TESTS, POSTGRES
    ),
    Mutant("direct: what is gone is kept", DIRECT, "        shelf.forget_if_gone(error)\n", "", TESTS, POSTGRES),
    Mutant(
        "direct: answers left unread", DIRECT, "        leave_nothing_unread(wrapper)", "        pass", TESTS, POSTGRES
    ),
    Mutant("direct: one call's answer left unread", DIRECT, "if at_work or ", "if ", TESTS, POSTGRES),
    Mutant(
        "direct: names as they are",
        DIRECT,
        'ESCAPED.sub(rb"\\\\\\g<0>", PLAIN[type(value)](value))',
        "PLAIN[type(value)](value)",
        TESTS,
        POSTGRES,
    ),
    Mutant(
        "direct: errors unheard",
        DIRECT,
        '    raise errors.error_from_result(result, encoding="utf-8")',
        "    return Done(0, [])",
        TESTS,
        POSTGRES,
    ),
    Mutant(
        "many: no event",
        "jobs/lifecycle/sql/insert_jobs.py",
        "SELECT '{enqueued}', queue, '', '', jobs || ' jobs' FROM made",
        "SELECT '{enqueued}', queue, '', '', jobs || ' jobs' FROM made WHERE FALSE",
        MANY_TESTS,
        POSTGRES,
    ),
    Mutant("many: unlike ones as alike", MANY, "job.terms is terms and ", "", MANY_TESTS, POSTGRES),
    Mutant(
        "many: what has a key as plain",
        MANY,
        "not all(map(is_plain, batch[:1] if alike else batch))",
        "False",
        MANY_TESTS,
        POSTGRES,
    ),
    Mutant(
        "many: a long generator without a transaction",
        MANY,
        "            with transaction.atomic():\n",
        "            if True:\n",
        MANY_TESTS,
    ),
    Mutant(
        "many: of a kind, unfitting ones",
        CHECKER,
        "check_arguments(kind or registry.get(new.kind), payload)",
        "pass",
        MANY_TESTS,
    ),
    Mutant(
        "many: of a kind, one key for all",
        CHECKER,
        "self.check(replace(new, payload=payload))",
        "self.check(new)",
        MANY_TESTS,
    ),
    Mutant(
        "speaker: waits for the child",
        PIPES,
        "len(said) > ROOM or [events for _, events in self._room.poll(0)] != [select.POLLOUT]",
        "False",
        PIPE_TESTS,
    ),
    Mutant("speaker: small words overtake", PIPES, "if self._behind or not", "if not", PIPE_TESTS),
    Mutant("speaker: goes on", PIPES, "            self.hush()\n", "", PIPE_TESTS),
    Mutant(
        "log: thousands of lines",
        "jobs/worker/display.py",
        "if self.lines <= MOST_LINES:",
        "if True:",
        ("tests/worker/test_display.py",),
    ),
    Mutant(
        "log: without the rest",
        "jobs/worker/display.py",
        "            logger.info(Event(event, jobs=jobs, kind=kind, **WENT_WELL[event]))\n",
        "            pass\n",
        ("tests/worker/test_display.py",),
    ),
]
