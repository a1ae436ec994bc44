"""The port that `make serve` uses: the usual one where it is free, else any that is."""

import socket

import pytest

from project.ports import free_port, port_to_serve_on


def test_the_wish_is_granted_where_it_is_free():
    wish = free_port(0)
    assert free_port(wish) == wish


def test_a_port_that_is_taken_is_replaced_by_a_free_one():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        wish = taken.getsockname()[1]
        port = free_port(wish)
        assert port != wish
        with pytest.raises(SystemExit, match=f"PORT={wish} is taken.*choose another PORT"):
            port_to_serve_on(str(wish))
        assert port_to_serve_on(str(port)) == port
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
