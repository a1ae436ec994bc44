"""`python -m project.ports`: prints a port to serve on: PORT, which must be free, else 8000 where it is free."""

import os
import socket


def free_port(wish: int = 8000) -> int:
    for port in (wish, 0):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise SystemExit("No free port on 127.0.0.1.")


def port_to_serve_on(asked: str) -> int:
    if not asked:
        return free_port()
    port = int(asked) if asked.isdecimal() else 0
    if not 0 < port < 65536 or free_port(port) != port:
        raise SystemExit(f"PORT={asked} is taken, or not open to you: choose another PORT, or leave it out.")
    return port


if __name__ == "__main__":
    print(port_to_serve_on(os.environ.get("PORT", "")))  # noqa: T201  its one purpose
