"""Mutations of what notices that somebody is gone without a word."""

from tests.mutants.mutant import POSTGRES, Mutant

CONNECTIONS, RUNNING, WEB = "jobs/worker/connections.py", "jobs/worker/running.py", "project/web_worker.py"
DROPPED, KILLED = ("tests/faults/test_black_hole.py",), ("tests/faults/test_web_sessions.py",)

MUTANTS = [
    Mutant("silence: a dead connection is waited for", RUNNING, "    notice_silence()\n", "", DROPPED, POSTGRES),
    Mutant(
        "silence: the server waits for a dead worker",
        CONNECTIONS, "    connection_created.connect(let_server_notice_silence)\n", "", DROPPED, POSTGRES,
    ),
    Mutant("silence: who is taken for dead leaves jobs", "jobs/worker/clerk.py",
           "if not jobs and not self.ledger and", "if False and", ("tests/worker/test_supervisor.py",)),
    Mutant("silence: a web process outlives its master", WEB, "if prctl(", "if False and prctl(", KILLED, POSTGRES),
]  # fmt: skip
