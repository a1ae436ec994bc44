"""Looks a host up once, within a time, and says whether every address it has may be called."""

import ipaddress
import socket
import threading

from jobs.exceptions import SendFailed, SendRefused
from jobs.web_address import Address, Policy, Target, objection
from jobs.webhooks.limits import Limits


def addresses_of(target: Target, policy: Policy, limits: Limits) -> list[Address]:
    """All that may be called; one that may not spoils the rest, for it says that the name is not what it seems."""
    found = look_up(target.host, target.port, limits)
    for address in found:
        if why := objection(target, address, policy):
            raise SendRefused(why=why)
    return found


def look_up(host: str, port: int, limits: Limits) -> list[Address]:
    """In a thread of its own: a resolver has no timeout that could be set, and may take a minute."""
    found: list[Address] = []
    problem: list[OSError | UnicodeError] = []

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            problem.append(error)
        else:
            found.extend(dict.fromkeys(address_in(answer[4]) for answer in answers))

    thread = threading.Thread(target=ask, name="look-up", daemon=True)
    thread.start()
    thread.join(limits.time_left())
    if problem or not found:
        raise SendFailed(why=f"{host} cannot be found ({problem[0] if problem else 'no answer in time'})")
    return found


def address_in(socket_address: tuple[object, ...]) -> Address:
    """Without the zone that a link-local one has."""
    return ipaddress.ip_address(str(socket_address[0]).partition("%")[0])
