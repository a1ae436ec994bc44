"""What a context talks to: where reports go, and where orders come from. No ORM."""

from typing import Protocol

from jobs.handlers.base import Child, Report, Wish


class Reporter(Protocol):
    """Where reports go: the worker's client."""

    def report(self, report: Report) -> None: ...
    def guard(self) -> None: ...
    def ask(self, wish: Wish) -> tuple[Child, ...]: ...


class StopFlags(Protocol):
    """The orders that reached the worker for this job."""

    @property
    def asked(self) -> bool:
        """Whether any of them did."""
        ...

    @property
    def cancelled(self) -> bool: ...
    @property
    def shutting_down(self) -> bool: ...
    @property
    def lost(self) -> bool: ...
