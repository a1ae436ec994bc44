"""Hand in: outcomes are told to the queue until each is answered, by whichever thread has them."""

import logging
from collections.abc import Callable, Collection, Sequence

from jobs.exceptions import ClaimExpired
from jobs.handlers.base import Answer, ClaimRef, Outcome
from jobs.logs import Event
from jobs.worker.persistence import GivenUp, Persistence, pauses
from jobs.worker.queue_client import QueueClient, QueueRefuses
from jobs.worker.renewals import Renewals

logger = logging.getLogger("jobs.worker")


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

    def __call__(self, outcomes: Sequence[Outcome]) -> list[Answer]:
        """As often as it takes: until an outcome is answered, the job is not over, and that its claim has expired is no
        answer. Those that have one do not wait for the others."""
        answers, goes_on = self.tell(outcomes), True
        for pause in pauses():
            late = {answer.claim for answer in answers if isinstance(answer.refused, ClaimExpired)}
            if not late or not goes_on:
                break
            self.file([answer for answer in answers if answer.claim not in late])
            goes_on = self.renewals.help(late, pause)
            answers = self.tell([outcome for outcome in outcomes if outcome.claim in late])
        self.forget({answer.claim for answer in answers})
        return answers

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
