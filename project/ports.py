"""`python -m project.ports`: prints a port to serve on, 8000 where it is free."""

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


if __name__ == "__main__":
    print(free_port())  # noqa: T201  its one purpose
