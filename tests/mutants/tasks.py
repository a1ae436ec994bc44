"""Mutations of Django's tasks: what is run, what is told, and what a result says."""

from tests.mutants.mutant import Mutant

STORED, RUNNING, RESULTS = "jobs/tasks/stored.py", "jobs/tasks/running.py", "jobs/tasks/results.py"
BACKEND, TASK, ENQUEUEING = "jobs/tasks/backend.py", "jobs/tasks/task.py", "jobs/handlers/enqueueing.py"
RUN, ENQUEUE = ("tests/tasks/test_running.py",), ("tests/tasks/test_enqueue.py",)
CHANGED = '    return changed(\n        find_task(payload["path"]),'
USING = '    return find_task(payload["path"]).using('

MUTANTS = [
    Mutant("tasks: anything importable is called", STORED, "if not isinstance(task, Task):", "if False:", RUN),
    Mutant("tasks: what no worker finds is enqueued", BACKEND, "        check_reachable(task)\n", "", ENQUEUE),
    Mutant(
        "tasks: enqueued unchecked",
        BACKEND,
        "        self.validate_task(task)\n        check",
        "        check",
        ENQUEUE,
    ),
    Mutant("tasks: tried three times", BACKEND, '{"max_attempts": 1}', "{}", ENQUEUE),
    Mutant("tasks: told again of one that was met", BACKEND, "if not answer.created:", "if False:", ENQUEUE),
    Mutant(
        "tasks: unique only at the same time", BACKEND, "        return derived_key(", "        derived_key(", ENQUEUE
    ),
    Mutant("tasks: any job has a result", RESULTS, "pk=int(text), kind__in=KINDS", "pk=int(text)", RUN),
    Mutant("tasks: an old error in a success", RESULTS, "job.status == Status.COMPLETED or not", "not", RUN),
    Mutant("tasks: finished while attempts are left", RUNNING, "if self.is_final(error):", "if True:", RUN),
    Mutant(
        "tasks: finished although it waits",
        RUNNING,
        "if isinstance(error, RetryLater) and not error.count:",
        "if 0:",
        RUN,
    ),
    Mutant("tasks: a receiver fails what is done", RUNNING, "task_finished.send_robust(", "task_finished.send(", RUN),
    Mutant(
        "tasks: return values cut or changed",
        RUNNING,
        'check_storable(self.returned, "return value", "MAX_RESULT")',
        "",
        RUN,
    ),
    Mutant("tasks: results of moved tasks are refused", STORED, CHANGED, USING, RUN),
    Mutant(
        "handlers: arguments by name are not checked",
        ENQUEUEING,
        "for function in self.functions():",
        "for function in ():",
        ("tests/handlers/test_enqueueing.py",),
    ),
]
