"""Hand in: outcomes are told to the queue until each is answered, by whichever thread has them."""

import logging
from collections.abc import Callable, Collection, Sequence

from jobs.exceptions import ClaimExpired, JobLocked
from jobs.handlers.base import Answer, ClaimRef, Outcome
from jobs.logs import Event
from jobs.worker.persistence import GivenUp, Persistence, pauses
from jobs.worker.queue_client import QueueClient, QueueRefuses
from jobs.worker.renewals import Renewals

logger = logging.getLogger("jobs.worker")
NO_ANSWER = (ClaimExpired, JobLocked)


class HandIn:
    def __init__(
        self,
        client: QueueClient,
        persist: Persistence,
        renewals: Renewals,
        forget: Callable[[Collection[ClaimRef]], None],
        on_finished: Callable[[list[Answer]], None],
    ) -> None:
        self.client, self.persist, self.renewals = client, persist, renewals
        self.forget, self.on_finished = forget, on_finished

    def __call__(self, outcomes: Sequence[Outcome], locked: list[Outcome] | None = None) -> list[Answer]:
        """As often as it takes: until an outcome is answered, the job is not over, and that its claim has expired, or
        that somebody has it locked, is no answer. Those that have one do not wait for the others.

        Who has more to do than to wait for locked ones is given them, as they are: `locked` collects them.
        """
        answers, goes_on = self.tell(outcomes), True
        for number, pause in enumerate(pauses()):
            if locked is not None:
                answers = self.set_aside(answers, outcomes, locked, NO_ANSWER if number and goes_on else (JobLocked,))
            late = {answer.claim for answer in answers if isinstance(answer.refused, NO_ANSWER)}
            if not late or not goes_on:
                break
            self.file([answer for answer in answers if answer.claim not in late])
            goes_on = self.renewals.help(late, pause)
            answers = self.tell([outcome for outcome in outcomes if outcome.claim in late])
        self.forget({answer.claim for answer in answers})
        return answers

    def set_aside(
        self,
        answers: list[Answer],
        outcomes: Sequence[Outcome],
        locked: list[Outcome],
        refusals: tuple[type[Exception], ...],
    ) -> list[Answer]:
        """Also those that are still expired after a beat: it leaves out rows that somebody has locked."""
        aside = {answer.claim for answer in answers if isinstance(answer.refused, refusals)}
        locked += [outcome for outcome in outcomes if outcome.claim in aside]
        return [answer for answer in answers if answer.claim not in aside]

    def file(self, answers: list[Answer]) -> None:
        if answers:
            self.forget({answer.claim for answer in answers})
            self.on_finished(answers)

    def tell(self, outcomes: Sequence[Outcome]) -> list[Answer]:
        """Together; where that raises what nobody foresaw, each on its own, and that one as a failure."""
        try:
            return self.persist(lambda: self.client.finish(outcomes))
        except (GivenUp, QueueRefuses):
            raise
        except Exception as error:  # whatever one of them holds: the worker goes on
            if len(outcomes) > 1:
                return [answer for outcome in outcomes for answer in self.tell([outcome])]
            return self.tell_failure(outcomes[0], error)

    def tell_failure(self, outcome: Outcome, error: Exception) -> list[Answer]:
        """So that its job does not run again uncharged: of an outcome that is not told, the reaper knows nothing."""
        logger.error(Event("an outcome could not be told", job=outcome.claim.job_id), exc_info=error)
        try:
            return self.persist(lambda: self.client.finish([outcome.refused(error)]))
        except (GivenUp, QueueRefuses):
            raise
        except Exception:
            logger.exception(Event("nor that it failed: the reaper will find its job", job=outcome.claim.job_id))
            return [Answer(outcome.claim, reason=f"It could not be told: {error}")]
