"""Fetches from a storage that signs its addresses, without the web server in between, and without our key."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import urllib3
from urllib3.exceptions import HTTPError

from jobs.worker.file_calls import Answered
from jobs.worker.http_connection import ANSWER, CONNECT, Streamed, in_words, pool_for
from jobs.worker.queue_client import QueueUnavailable


@contextmanager
def opened_url(url: str, headers: Mapping[str, str]) -> Iterator[Answered]:
    """The answer, if it is a file; whatever else is said there is a trouble that may pass."""
    pool = pool_for(url)
    try:
        timeout = urllib3.Timeout(connect=CONNECT, read=ANSWER)
        try:
            response = pool.request(
                "GET", url, headers=dict(headers), timeout=timeout, retries=False, preload_content=False
            )
        except (HTTPError, OSError) as error:
            raise QueueUnavailable(in_words(error)) from error
        with Streamed(response) as answer:
            if answer.status not in (200, 206, 416):
                raise QueueUnavailable(f"the storage answered {answer.status}")
            yield answer
    finally:
        pool.clear()
