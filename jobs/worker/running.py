"""Puts a worker together and runs it: the nursery first, for it must be forked before there are threads."""

import gc
import logging
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from django.db import connections

from jobs.conf import conf
from jobs.dispatch.link import check_at_start
from jobs.exceptions import InvalidInput
from jobs.handlers.registry import registry
from jobs.logs import signature
from jobs.worker.capabilities import capabilities
from jobs.worker.child import FilesFor, child_main
from jobs.worker.connections import notice_silence
from jobs.worker.database_client import DatabaseClient
from jobs.worker.display import Display
from jobs.worker.housekeeping import folders_of_this_process
from jobs.worker.http_server import Server
from jobs.worker.nursery import ChildMain, Nursery
from jobs.worker.options import WorkerOptions, WorkerTally
from jobs.worker.queue_client import QueueClient
from jobs.worker.supervisor import Supervisor

logger = logging.getLogger("jobs.worker")
LOOK_AFTER = (20_000, 20, 20)  # objects, and rounds


def run_worker(
    name: str, options: WorkerOptions, display: Display, *, gpu: str = "auto", server: Server | None = None
) -> tuple[str, WorkerTally]:
    """Returns the name it had, and what it did. With a server, the database is never opened."""
    list(registry)  # children find all handlers imported
    tell_what_is_missing()
    check_kinds()
    if server is None:
        check_at_start()
        notice_silence()
    connections.close_all()
    settle_memory()
    folders = folders_of_this_process(server.url if server else "")
    nursery = Nursery(shown_by(display, child_main(name, folders, files_for(server))))
    facts = capabilities(gpu)
    if options.max_size is not None:
        facts["max_size"] = options.max_size
    client = client_for(name, options, facts, server)
    supervisor = Supervisor(client, nursery, folders, options, display)
    with signature.of(lambda: supervisor.clerk.known_as):
        tally = supervisor.run()
    return supervisor.clerk.known_as, tally


def client_for(name: str, options: WorkerOptions, facts: Mapping[str, Any], server: Server | None) -> QueueClient:
    if server is None:
        return DatabaseClient(name, options.queue_names, slots=options.slots, capabilities=facts)
    from jobs.worker.http_client import HttpClient  # needs urllib3, and who has the database does not

    return HttpClient(server, options.queue_names, slots=options.slots, capabilities=facts)


def files_for(server: Server | None) -> FilesFor | None:
    """None: the storage is at hand."""
    if server is None:
        return None
    from jobs.worker.remote_files import remote_files  # as above

    return remote_files(server)


def settle_memory() -> None:
    """What has been imported stays: in none of our processes the garbage collector need look at it again and again.

    Nor need children copy the pages that hold it, only because it looked. At what is new it looks less often: a batch
    of short jobs would be looked at several times, and hold no garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*LOOK_AFTER)


def shown_by(display: Display, child_main: ChildMain) -> ChildMain:
    """The same child, but what it prints is shown by the display."""

    def main(connection: Connection, board: int, slots: int) -> None:
        display.in_child()
        child_main(connection, board, slots)

    return main


def tell_what_is_missing() -> None:
    for module, reason in registry.broken().items():
        logger.error("%s cannot be imported: %s. Jobs of kinds that this worker does not know are left to others.",
                     module, reason)  # fmt: skip


def check_kinds() -> None:
    """What is exclusive stops before its lease ends: if that is before it can be renewed, it would never get far."""
    shortest = 2 * conf.HEARTBEAT_INTERVAL
    for kind in registry:
        if kind.exclusive and kind.lease is not None and kind.lease < shortest:
            raise InvalidInput(
                f"The kind {kind.name!r} is exclusive and has a lease of {kind.lease:g} s, but it is renewed every "
                f"{conf.HEARTBEAT_INTERVAL:g} s: give it at least {shortest:g} s."
            )
