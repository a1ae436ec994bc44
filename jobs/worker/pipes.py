"""The two threads of each child's pipe: no child that says nothing, or does not listen, can hold its supervisor up."""

import logging
import os
import socket
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import TYPE_CHECKING

from jobs.worker.messages import Order, unpacked

if TYPE_CHECKING:
    from jobs.worker.crew import ChildHandle, OnEnd, OnWords

logger = logging.getLogger("jobs.worker")


def read(handle: "ChildHandle", connection: Connection, on_words: "OnWords", on_hung_up: "OnEnd") -> None:
    try:
        while True:
            on_words(handle, unpacked(connection.recv()))
    except (EOFError, OSError):
        pass  # it has hung up, as all do in the end
    except Exception:  # what cannot be read: nothing that follows can be trusted
        logger.exception("a child cannot be understood and is killed pid=%d", handle.pid)
        handle.kill()
    on_hung_up(handle)


def write(connection: Connection, orders: "SimpleQueue[Order | None]") -> None:
    try:
        while (order := orders.get()) is not None:
            connection.send(order)
    except OSError:
        pass  # the child is gone: who reads from it notices
    except Exception:
        logger.exception("a child cannot be told what to do")  # it ends when it sees the end of its orders
    shut(connection, socket.SHUT_WR)  # the child sees the end of its orders, and can still say its last words


def shut(connection: Connection, how: int) -> None:
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as end:
            end.shutdown(how)
    except OSError:
        pass  # it is closed already
