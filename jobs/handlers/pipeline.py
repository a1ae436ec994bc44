"""A handler made of named phases: each has its own progress, and a result that later ones read."""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from math import inf
from typing import Any, Unpack

from jobs.exceptions import ClaimError, InvalidInput, StopRequested, WaitFor
from jobs.handlers.context import Context
from jobs.handlers.enqueueing import Enqueued, EnqueuedMany, Enqueuer, JobOptions
from jobs.handlers.registry import Function, Phase, check_function, kind_with, registry
from jobs.states import PhaseStatus


class Pipeline:
    """`build = pipeline("reports.build")`, then `@build.phase("collect", weight=2)` on each function, in order."""

    def __init__(self, name: str, **options: Any) -> None:
        self._kind = kind_with(name, options)
        self._kind.function = self._run
        registry.add(self._kind)

    @property
    def kind_name(self) -> str:
        return self._kind.name

    def phase(self, name: str, weight: float = 1, every_attempt: bool = False) -> Callable[[Function], Function]:
        """`every_attempt`: it runs again also where an earlier attempt has ended it."""
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < inf:
            raise InvalidInput(f"The weight of phase {name!r} must be above zero, not {weight!r}.")
        if any(phase.name == name for phase in self._kind.phases):
            raise InvalidInput(f"The pipeline {self._kind.name!r} already has a phase {name!r}.")

        def register(function: Function) -> Function:
            self._kind.phases += (Phase(name, check_function(self._kind.name, function), weight, every_attempt),)
            return function

        return register

    def enqueue(self, **payload: Any) -> Enqueued:
        """Store a job with this payload, inside the caller's transaction; every phase is given all of it."""
        return self._enqueuer.enqueue(**payload)

    def enqueue_many(self, payloads: Iterable[Mapping[str, Any]]) -> EnqueuedMany:
        """Store a job for each of these payloads: all or none."""
        return self._enqueuer.enqueue_many(payloads)

    def using(self, **options: Unpack[JobOptions]) -> Enqueuer[...]:
        """With options of `jobs.enqueue`: `build.using(queue="slow").enqueue(month=5)`."""
        return self._enqueuer.using(**options)

    @property
    def _enqueuer(self) -> Enqueuer[...]:
        return Enqueuer(self._kind.name, lambda: tuple(phase.function for phase in self._kind.phases))

    def _run(self, context: Context, /, **payload: Any) -> Any:
        """Run the phases that have no result yet; the last one's result is the job's."""
        for phase in context.plan_phases(self._kind.phases):
            context.guard()
            self._run_phase(context, phase, payload)
        return context.phase_result(self._kind.phases[-1].name) if self._kind.phases else None

    @staticmethod
    def _run_phase(context: Context, phase: Phase, payload: dict[str, Any]) -> None:
        context.start_phase(phase.name)
        try:
            # A copy: what one phase changes in it, another one would miss in a resumed attempt.
            result = context.call(phase.function, **deepcopy(payload))
            if isinstance(result, WaitFor):
                raise result
            context.end_phase(PhaseStatus.COMPLETED, result=result)
        except (StopRequested, ClaimError, WaitFor):
            raise  # not the phase's fault: what ends the claim says what becomes of it
        except Exception as error:  # also a result that cannot be stored
            mark_failed(context, error)
            raise


def mark_failed(context: Context, error: Exception) -> None:
    try:
        context.end_phase(PhaseStatus.FAILED, error=error)
    except (StopRequested, ClaimError):
        raise
    except Exception:  # what the phase raised says more than that its mark could not be sent
        context.logger.exception("the failed phase could not be marked")


def pipeline(name: str, **options: Any) -> Pipeline:
    """Register a handler of several phases for a kind."""
    return Pipeline(name, **options)
