"""What a thread of the web server hears while it waits."""

import socket
import threading

import pytest
from django.db import connection

from jobs.api.ear import hear_wake_ups, wait_for
from jobs.lifecycle import wake_up
from tests.concurrency.threads import Running

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_a_wake_up_that_came_with_the_answer_to_a_query_is_heard():
    """Nothing is left to read then: who waits for the socket alone would miss it."""
    bell, other = socket.socketpair()
    heard = threading.Event()

    def wait() -> None:
        assert hear_wake_ups()
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY \"{wake_up.CHANNEL}\", 'media'")
        wait_for(bell, 60.0, hears=True)
        heard.set()

    waiting = Running(wait)
    try:
        assert heard.wait(10.0)
    finally:
        other.send(b".")
        waiting.result()
        bell.close()
        other.close()
