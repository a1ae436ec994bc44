"""`ctx`: what a handler is given to report progress and to ask whether it should go on. No ORM."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

from jobs.exceptions import Cancelled, ClaimLost, InvalidInput, ShuttingDown
from jobs.handlers.base import Child, ClaimedJob, PhaseReport, QualityReport, Report, Spawn, describe_error
from jobs.handlers.calling import Awaiting, Cancel, OnTask, run_awaitable, run_with
from jobs.handlers.commands import Argument, CommandResult, Commands, OnLine, OnLook
from jobs.handlers.confinement import Confinement
from jobs.handlers.files import Files, JobFiles, job_storage
from jobs.handlers.folders import Folders
from jobs.handlers.job_logger import JobLogger
from jobs.handlers.quality import Quality, as_json, whole_percent
from jobs.handlers.registry import Phase
from jobs.handlers.reporter import Reporter, StopFlags
from jobs.handlers.spawning import children, spawned
from jobs.progress import overall_percent
from jobs.sanitise import clean_text
from jobs.states import PhaseStatus

LONGEST_STEP = 200


class Context:
    """Its methods may be called from any thread and from async code. Most return at once; `run`, and what is stored
    or asked before it returns (`checkpoint`, `guard`, phases), takes its time, through an outage as long as that."""

    def __init__(
        self,
        job: ClaimedJob,
        reporter: Reporter,
        stop: StopFlags,
        folders: Folders | None = None,
        worker_name: str = "",
        on_task: OnTask | None = None,
        awaiting: Awaiting = run_awaitable,
        files: "Callable[[Context], JobFiles] | None" = None,
    ) -> None:
        self._job, self._reporter, self._stop, self._awaiting, self._files = job, reporter, stop, awaiting, files
        self._folders, self._worker_name, self._on_task = folders, worker_name, on_task
        self._commands: Commands | None = None
        self._phase_results = dict(job.phase_results)
        self._checkpoint, self._has_scratch = job.checkpoint, False
        self._phases: Sequence[Phase] = ()
        self._phase: Phase | None = None

    # The job

    @property
    def job_id(self) -> int:
        return self._job.id

    @property
    def claim_id(self) -> UUID:
        """New for each attempt. Jobs that were claimed together share it: with the job's id it names this attempt."""
        return self._job.claim.claim_id

    @property
    def kind(self) -> str:
        return self._job.kind

    @property
    def queue(self) -> str:
        return self._job.queue

    @property
    def subject(self) -> str:
        return self._job.subject

    @property
    def payload(self) -> dict[str, Any]:
        return self._job.payload

    @property
    def priority(self) -> int:
        return self._job.priority

    @property
    def enqueued_at(self) -> datetime | None:
        return self._job.enqueued_moment

    @property
    def attempt(self) -> int:
        return self._job.attempt

    @property
    def max_attempts(self) -> int:
        return self._job.max_attempts

    @property
    def worker_name(self) -> str:
        return self._worker_name

    @cached_property
    def logger(self) -> JobLogger:
        return JobLogger(self._job, self._worker_name)

    # Running

    def call(self, function: Callable[..., Any], /, **payload: Any) -> Any:
        """Call a handler or a phase, plain or async; the commands it leaves behind end with it."""
        outer, mine = self._commands, Commands(self.raise_if_cancelled)
        self._commands = mine

        def on_task(cancel: Cancel | None) -> None:
            if self._on_task is not None:
                self._on_task(cancel)
            if cancel is None:  # a cancelled task leaves threads behind, and closing its loop waits for them
                mine.close()

        try:
            return run_with(self._awaiting, on_task, function, self, **payload)
        finally:
            mine.close()
            self._commands = outer

    def run(
        self,
        argv: Sequence[Argument],
        *,
        timeout: float | None = None,
        check: bool = True,
        input: str | bytes | None = None,  # noqa: A002  as in subprocess.run()
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        on_line: OnLine | None = None,
        on_look: OnLook | None = None,
        nice: int = 0,
        confinement: Confinement | None = None,
    ) -> CommandResult:
        """Run a program, without a shell, in a process group that ends with this attempt whatever ends it.

        `on_line` gets each line of its standard output as it comes; `on_look` is called several times a second, and
        what it raises ends it; `nice` lets others go first; `confinement` says what it may take and do at most. With
        `check`, an exit code but 0 raises CommandFailed.
        """
        commands = self._commands or Commands(self.raise_if_cancelled)
        return commands.run(
            argv, timeout=timeout, check=check, input=input, env=env, cwd=cwd, on_line=on_line, on_look=on_look,
            nice=nice, confinement=confinement,
        )  # fmt: skip

    @property
    def scratch(self) -> Path:
        """A directory of this attempt, removed after it."""
        self._has_scratch = True
        return self._own_folders.make_scratch(self._job.claim)

    def remove_scratch(self) -> None:
        """For the worker, when the attempt is over."""
        if self._has_scratch:
            self._own_folders.remove_scratch(self._job.claim)

    @property
    def workdir(self) -> Path:
        """A directory of this job on this machine, kept across attempts until the job is done, failed or cancelled."""
        return self._own_folders.make_workdir(self.job_id)

    def workdir_of(self, job_id: int) -> Path:
        """That of another job on this machine: jobs of one parent share what they all need there. It goes with it."""
        return self._own_folders.make_workdir(job_id)

    @cached_property
    def files(self) -> JobFiles:
        """The storage that jobs read from and write to, whichever machine they run on."""
        return self._files(self) if self._files else Files(job_storage())

    @property
    def _own_folders(self) -> Folders:
        if self._folders is None:
            raise InvalidInput("This context was made without folders: it has no scratch and no workdir.")
        return self._folders

    # Stopping

    @property
    def cancelled(self) -> bool:
        return self._stop.cancelled

    def raise_if_cancelled(self) -> None:
        """Stop here if the claim is lost, somebody cancelled the job, or the worker must exit."""
        if not self._stop.asked:
            return
        if self._stop.lost:
            raise ClaimLost(job_id=self.job_id)
        if self._stop.cancelled:
            raise Cancelled(job_id=self.job_id)
        if self._stop.shutting_down:
            raise ShuttingDown(job_id=self.job_id)

    def guard(self) -> None:
        """Ask the database now whether the claim holds; call it right before anything irreversible."""
        self.raise_if_cancelled()
        self._reporter.guard()

    # Jobs of its own

    def spawn(self, kind: str, payload: Any = None, *, key: str | None = None, **options: Any) -> Child:
        """Enqueue a job of this one; in a later attempt, the same key (or kind and payload) is the same job."""
        return self.spawn_many([Spawn(kind, payload, key, options)])[0]

    def spawn_many(self, orders: Iterable[Spawn]) -> list[Child]:
        """Many at once, all or none, in the order given."""
        self.raise_if_cancelled()
        return spawned(self._reporter, orders)

    def children(self) -> list[Child]:
        """The jobs that it spawned, in this and in earlier attempts, as they stand now, with their results."""
        return children(self._reporter)

    # Reporting

    def progress(self, percent: float, message: str | None = None) -> None:
        """Say how far this phase, or the job if it has none, is: 0 to 100."""
        self.raise_if_cancelled()
        step = None if message is None else clean_text(message, LONGEST_STEP)
        if self._phase is None:
            self._send(progress=whole_percent(percent), step=step)
        else:
            self._send_phase(PhaseStatus.RUNNING, whole_percent(percent), step=step)

    def checkpoint(self, data: Any) -> None:
        """Store where the next attempt can go on; it survives retries and crashes."""
        stored = as_json(data)
        self._send(checkpoint=stored)
        self._checkpoint = stored

    @property
    def last_checkpoint(self) -> Any:
        """What this or an earlier attempt stored last; None if nothing."""
        return deepcopy(self._checkpoint)

    def quality(self, name: str) -> "Quality":
        return Quality(name, self._report_quality)

    def _report_quality(self, report: QualityReport) -> None:
        self.raise_if_cancelled()
        self._send(qualities=[report])

    @property
    def completed_qualities(self) -> Sequence[str]:
        """What earlier attempts completed. Check that the files are there before trusting it."""
        return self._job.completed_qualities

    # Phases

    def phase_result(self, name: str) -> Any:
        """What a finished phase returned, as JSON gives it back: the same in its own attempt and in later ones."""
        return deepcopy(self._phase_results[name])

    def has_phase_result(self, name: str) -> bool:
        return name in self._phase_results

    def phase_results(self) -> dict[str, Any]:
        return deepcopy(self._phase_results)

    def plan_phases(self, phases: Sequence[Phase]) -> list[Phase]:
        """Make all phases visible before the first one starts; returns those that are to be run."""
        self._phases = phases
        to_do = [phase for phase in phases if phase.every_attempt or not self.has_phase_result(phase.name)]
        self._send(phases=[self._phase_report(phase, PhaseStatus.PENDING) for phase in to_do])
        return to_do

    def start_phase(self, name: str) -> None:
        self._phase = next(phase for phase in self._phases if phase.name == name)
        self._send_phase(PhaseStatus.RUNNING, 0, step=name)

    def end_phase(self, status: PhaseStatus, result: Any = None, error: BaseException | None = None) -> None:
        phase = self._phase
        assert phase is not None, "end_phase() without start_phase()"
        text, stored = describe_error(error)[0] if error else "", as_json(result)
        self._send_phase(status, 100 if error is None else None, result=stored, error=text)
        if status == PhaseStatus.COMPLETED:
            self._phase_results[phase.name] = stored
        self._phase = None

    def _send_phase(
        self, status: PhaseStatus, percent: int | None, step: str | None = None, result: Any = None, error: str = ""
    ) -> None:
        phase = self._phase
        assert phase is not None
        weights = [each.weight for each in self._phases]
        overall = None if percent is None else overall_percent(weights, self._phases.index(phase), percent)
        report = self._phase_report(phase, status, percent or 0, result, error)
        self._send(progress=overall, step=step, phases=[report])

    def _phase_report(
        self, phase: Phase, status: PhaseStatus, percent: int = 0, result: Any = None, error: str = ""
    ) -> PhaseReport:
        return PhaseReport(phase.name, self._phases.index(phase), status, percent, phase.weight, result, error)

    def _send(self, **what: Any) -> None:
        self._reporter.report(Report(self._job.claim, **what))
