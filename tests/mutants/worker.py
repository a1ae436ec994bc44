"""Mutations of what a worker settles by itself: whether a job begins or is called back, and what it says last."""

from tests.mutants.mutant import POSTGRES, Mutant, races

BOARD, RECALLS = "jobs/worker/board.py", ("tests/worker/test_board.py",)
CLERK, TELLS = "jobs/worker/clerk.py", ("tests/worker/test_clerk.py",)
KEPT = "        if self._recalls[place] == KEPT:\n            return True\n        while"
ALL_TOLD = '"""When all is told."""\n'

MUTANTS = [
    Mutant("board: what was called back begins", BOARD, KEPT, KEPT.replace("self._recalls[place]", "KEPT"), RECALLS),
    Mutant(
        "board: who was asked does not wait", BOARD, "while self._recalls[place] == ASKED:", "while False:", RECALLS
    ),
    Mutant(
        "board: what begins meanwhile is called back",
        BOARD,
        "taken = {place for place in asked if self._marks[place] == WAITS}",
        "taken = set(asked)",
        RECALLS,
    ),
    Mutant(
        "heartbeat: what it could not renew is renewed",
        "jobs/worker/heartbeat.py",
        "orders.lost, orders.unrenewed",
        "orders.lost",
        races("lock_wait"),
        POSTGRES,
    ),
    Mutant(
        "clerk: signs off before all is told",
        CLERK,
        f"{ALL_TOLD}        self.registrar.end()\n",
        ALL_TOLD,
        TELLS,
        POSTGRES,
    ),
]
