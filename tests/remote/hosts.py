"""Hosts of their own on one machine: network namespaces on a bridge, each with a slow cable that can be pulled."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

RATE = "2mbit"  # so slow that an upload has a middle


def sh(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=30)


@dataclass(frozen=True)
class Host:
    name: str
    cable: str
    address: str

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command begins with that runs on this host."""
        return ("ip", "netns", "exec", self.name)

    def pull(self) -> None:
        sh("ip", "link", "set", self.cable, "down")

    def plug_in(self) -> None:
        sh("ip", "link", "set", self.cable, "up")


@dataclass(frozen=True)
class Network:
    """`address` is the site's, which is not in a namespace of its own: it has the test's database."""

    address: str
    hosts: tuple[Host, ...]


@contextmanager
def network(number: int) -> Iterator[Network]:
    """A site and so many hosts. Names and addresses are this process's own: several tests may run at once."""
    if os.geteuid() or not shutil.which("ip") or not shutil.which("tc"):
        pytest.skip("network namespaces need root, and ip and tc: apt-get install iproute2, then run the tests as root")
    mark, net = f"{os.getpid() % 100_000:x}", f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
    bridge, hosts = f"jyb{mark}", [Host(f"jy{mark}-{n}", f"jyv{mark}{n}", f"{net}.{n + 2}") for n in range(number)]
    try:
        try:
            sh("ip", "link", "add", bridge, "type", "bridge")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this container may not make networks (it needs CAP_NET_ADMIN): {error.stderr.strip()}")
        sh("ip", "addr", "add", f"{net}.1/24", "dev", bridge)
        sh("ip", "link", "set", bridge, "up")
        for host in hosts:
            add(host, bridge)
        yield Network(f"{net}.1", tuple(hosts))
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "del", host.name], capture_output=True)
            subprocess.run(["ip", "link", "del", host.cable], capture_output=True)
        subprocess.run(["ip", "link", "del", bridge], capture_output=True)


def add(host: Host, bridge: str) -> None:
    far = f"{host.cable}f"
    sh("ip", "netns", "add", host.name)
    sh("ip", "link", "add", host.cable, "type", "veth", "peer", "name", far, "netns", host.name)
    sh("ip", "link", "set", host.cable, "master", bridge, "up")
    for words in (
        ("addr", "add", f"{host.address}/24", "dev", far),
        ("link", "set", far, "up"),
        ("link", "set", "lo", "up"),
    ):
        sh("ip", "-n", host.name, *words)
    sh(
        "tc",
        "-n",
        host.name,
        "qdisc",
        "add",
        "dev",
        far,
        "root",
        "tbf",
        "rate",
        RATE,
        "burst",
        "16kb",
        "latency",
        "400ms",
    )
