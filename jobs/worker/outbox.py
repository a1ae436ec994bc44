"""A child's outbox: many words, few sendings. Handlers only drop words into it, so no interruption tears one apart."""

import logging
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from time import monotonic

from jobs.handlers.base import ClaimRef
from jobs.worker.ledger import NEVER
from jobs.worker.messages import Asked, Ended, Told, Word, packed
from jobs.worker.reporting import Digest, News

logger = logging.getLogger("jobs.worker")
SEND_AT_MOST_EVERY = 0.25  # seconds; a handler may report thousands of times in one
GATHER = 0.02  # seconds: how attempts ended is told together while there are more to run


def fit_to_travel(word: Word) -> Word | None:
    """A word that cannot be pickled is left out, an outcome becomes a failure that says why: the attempt has ended."""
    try:
        pickle.dumps(word)
    except Exception as error:
        logger.exception("what a handler said cannot be passed on")
        if isinstance(word, Ended) and word.outcome:
            return Ended(word.claim, word.outcome.refused(error), word.seconds)
        return None
    return word


class Outbox(threading.Thread):
    def __init__(self, connection: Connection, is_busy: Callable[[], bool], on_broken: Callable[[], None]) -> None:
        super().__init__(name="outbox", daemon=True)
        self.connection, self.is_busy, self.on_broken = connection, is_busy, on_broken
        self._hurry: SimpleQueue[None] = SimpleQueue()
        self._words: SimpleQueue[Word | None] = SimpleQueue()
        self._kept: dict[ClaimRef, Digest] = {}
        self._news: dict[ClaimRef, News] = {}
        self._sent_at = NEVER

    def say(self, word: Word) -> None:
        self._words.put(word)
        if isinstance(word, Asked):
            self._hurry.put(None)  # somebody waits for the reply

    def close(self) -> None:
        """Send what is left, and end."""
        self._words.put(None)
        self._hurry.put(None)
        self.join()

    def run(self) -> None:
        going_on = True
        while going_on:
            words = self.collect()
            going_on = None not in words
            bundle = self.bundle([word for word in words if word is not None], last=not going_on)
            try:
                self.send(bundle)
            except OSError:  # the supervisor is gone, or a handler closed our pipe
                self.on_broken()
                return

    def send(self, bundle: list[Word]) -> None:
        if not bundle:
            return
        try:
            self.connection.send(packed(bundle))
        except OSError:
            raise
        except Exception:  # whatever the methods of a value raise that a handler put into one of them
            self.connection.send([fit for word in bundle if (fit := fit_to_travel(word))])

    def collect(self) -> list[Word | None]:
        """What there is now; waits for the first word, unless something that was kept back is due."""
        words: list[Word | None] = []
        try:
            words.append(self._words.get(timeout=self.patience()))
            self.gather()
            while True:
                words.append(self._words.get_nowait())
        except Empty:
            return words

    def gather(self) -> None:
        """Let the slots go on for a moment: to wake up for each word of theirs costs more than a short job."""
        if self.is_busy():
            with suppress(Empty):
                self._hurry.get(timeout=GATHER)
        while not self._hurry.empty():
            self._hurry.get_nowait()

    def patience(self) -> float | None:
        return max(0.0, self._sent_at + SEND_AT_MOST_EVERY - monotonic()) if self._kept else None

    def bundle(self, words: list[Word], *, last: bool) -> list[Word]:
        """The words to send now, in order; reports that can wait are merged and kept."""
        bundle: list[Word] = []
        urgent = last
        for word in words:
            if isinstance(word, Told):
                claim = word.report.claim
                urgent |= self._news.setdefault(claim, News()).is_in(word.report)
                self._kept.setdefault(claim, Digest()).add(word.report)
            else:
                bundle += self.kept_for(word)
                bundle.append(word)
        if urgent or monotonic() - self._sent_at >= SEND_AT_MOST_EVERY:
            bundle += [Told(kept.report()) for kept in self._kept.values()]
            self._kept.clear()
            self._sent_at = monotonic()
        return bundle

    def kept_for(self, word: Word) -> list[Word]:
        """The last word of an attempt is preceded by what it said before."""
        claim = getattr(word, "claim", None)
        if claim is None:
            return []
        if isinstance(word, Ended):
            self._news.pop(claim, None)
        kept = self._kept.pop(claim, None)
        return [Told(kept.report())] if kept else []
