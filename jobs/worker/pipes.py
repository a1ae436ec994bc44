"""The two threads of each child's pipe: no child that says nothing, or does not listen, can hold its supervisor up."""

import logging
import os
import select
import socket
import threading
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import TYPE_CHECKING

from jobs.logs import Event
from jobs.worker.messages import Order, unpacked

if TYPE_CHECKING:
    from jobs.worker.child_handle import ChildHandle, OnEnd, OnWords

logger = logging.getLogger("jobs.worker")
ROOM = 16 * 1024  # bytes: Linux says that a socket can be written to while three quarters of its buffer are free


def read(handle: "ChildHandle", connection: Connection, on_words: "OnWords", on_hung_up: "OnEnd") -> None:
    try:
        while True:
            on_words(handle, unpacked(connection.recv()))
    except (EOFError, OSError):
        pass  # it has hung up, as all do in the end
    except Exception:  # what cannot be read: nothing that follows can be trusted
        logger.exception(Event("a child cannot be understood and is killed", pid=handle.pid))
        handle.kill()
    on_hung_up(handle)


class Speaker(threading.Thread):
    """Tells a child what to do: at once where its pipe has room, as it mostly has, else by this thread."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(name="orders", daemon=True)
        self._connection = connection
        self._waiting: SimpleQueue[memoryview | None] = SimpleQueue()
        self._behind, self._lock = 0, threading.Lock()
        self._room = select.poll()
        self._room.register(connection.fileno(), select.POLLOUT)

    def say(self, order: Order) -> None:
        try:
            said = ForkingPickler.dumps(order)  # as `connection.send` does
            with self._lock:  # who speaks second is heard second
                if self._connection.closed:
                    return
                if self._behind or not self._said_at_once(said):
                    self._behind += 1
                    self._waiting.put(said)
        except OSError:
            pass  # the child is gone: who reads from it notices
        except Exception:
            logger.exception("a child cannot be told what to do")  # it ends when it sees the end of its orders
            self.hush()

    def hush(self) -> None:
        """Say nothing more: the child sees the end of its orders, and can still say its last words."""
        self._waiting.put(None)

    def close(self) -> None:
        """When nobody reads from it any more; others may be about to speak."""
        with self._lock:
            self._connection.close()

    def _said_at_once(self, said: memoryview) -> bool:
        if len(said) > ROOM or [events for _, events in self._room.poll(0)] != [select.POLLOUT]:
            return False
        self._connection.send_bytes(said)
        return True

    def run(self) -> None:
        try:
            while (said := self._waiting.get()) is not None:
                self._connection.send_bytes(said)
                with self._lock:
                    self._behind -= 1
        except OSError:
            pass  # the child is gone, as above
        shut(self._connection, socket.SHUT_WR)


def shut(connection: Connection, how: int) -> None:
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as end:
            end.shutdown(how)
    except OSError:
        pass  # it is closed already
