"""Web addresses that may be called from here: their shape, the hosts they may name, the networks they may lead to.

Pure: nothing is resolved and nothing is connected to.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SHAPE = "must begin with http:// or https:// and name a host"
CHARACTERS = re.compile(r"[!-\[\]-~]+")  # printable ASCII but the backslash, which programs read differently
HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?")
NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")  # as a last label it makes old resolvers read an address: 0x7f.1
DEFAULT_PORTS = {"http": 80, "https": 443}

# Where nobody on the Internet lives, by the registries of special addresses. The first that fits says why.
SPECIAL: tuple[tuple[Network, str], ...] = tuple(
    (ipaddress.ip_network(network), why)
    for network, why in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "private"),  # carriers' own
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),  # where clouds keep their metadata
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved"),
        ("198.51.100.0/24", "reserved"),
        ("203.0.113.0/24", "reserved"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "an IPv4 address in disguise"),
        ("2001::/23", "reserved"),  # Teredo, which wraps IPv4, among others
        ("2001:db8::/32", "reserved"),
        ("2002::/16", "an IPv4 address in disguise"),  # 6to4
        ("3fff::/20", "reserved"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
)
PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")
NAT64 = ipaddress.ip_network("64:ff9b::/96")  # where a network has no IPv4: the last 32 bits say who is meant


class BadAddress(ValueError):
    """What is wrong with it, to go on after "The webhook URL … "."""


@dataclass(frozen=True)
class Target:
    """A web address, taken apart."""

    scheme: str
    host: str  # lower case, without brackets
    port: int
    path: str  # with its query

    @property
    def authority(self) -> str:
        """As the Host header wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def host_and_port(self) -> str:
        """Who is called: what people are shown, and what a breaker is kept for. A path may hold a secret."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def literal(self) -> Address | None:
        """The address itself, where the host is one."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


@dataclass(frozen=True)
class Allowed:
    """Whom an operator trusts, by name or by network: they may be private, on any port, and called without TLS."""

    names: frozenset[str] = frozenset()
    domains: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "Allowed":
        names, domains, networks = set(), [], []
        for entry in entries:
            try:
                networks.append(ipaddress.ip_network(entry.strip("[]"), strict=False))
                continue
            except ValueError:
                name = entry.lower().rstrip(".")
            if not HOST.fullmatch(name.removeprefix(".")) or NUMBER.fullmatch(name.rpartition(".")[2]):
                raise ValueError(
                    f"hosts and networks like hooks.example.org, .example.org or 10.0.0.0/8, not {entry!r}"
                )
            if name.startswith("."):
                domains.append(name)
            else:
                names.add(name)
        return cls(frozenset(names), tuple(domains), tuple(networks))

    def trusts_name(self, host: str) -> bool:
        name = host.rstrip(".")
        return name in self.names or name.endswith(self.domains or ("\0",))

    def covers(self, host: str, address: Address) -> bool:
        return self.trusts_name(host) or any(address in network for network in self.networks)


@dataclass(frozen=True)
class Policy:
    """Who may be called: everybody with a public address by https on these ports, and whoever is allowed."""

    allowed: Allowed = field(default_factory=Allowed)
    ports: frozenset[int] = frozenset({443, 8443})


# For addresses that an operator wrote into the settings, and nobody else can: whoever may write there needs no tricks.
ANYWHERE = Policy(Allowed(networks=(ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))))


@lru_cache(1000)
def parse(url: str) -> Target:
    """Raises BadAddress."""
    if not CHARACTERS.fullmatch(url):
        raise BadAddress(
            "contains a space, a backslash, a control character or a letter beyond ASCII: percent-encode it, "
            "and write a host's name in its xn-- form"
        )
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
    except ValueError:  # a bracket is missing, or the port is no number
        raise BadAddress(f"{SHAPE}, with a port from 1 to 65535 if any") from None
    if scheme not in DEFAULT_PORTS or not host:
        raise BadAddress(SHAPE)
    if "@" in parts.netloc:
        raise BadAddress("must not contain a user name or a password")
    if port == 0:
        raise BadAddress("has port 0; a port is 1 to 65535")
    check_host(host, bracketed="[" in parts.netloc)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme, host, port or DEFAULT_PORTS[scheme], path)


def check_host(host: str, *, bracketed: bool) -> None:
    """A name or an address in its usual form: what one program reads as a name, another may read as an address."""
    if bracketed:
        if "%" in host or not is_address(host):
            raise BadAddress(f"names the host [{host}], which is no IPv6 address")
    elif not HOST.fullmatch(host) or len(host) > 253:
        raise BadAddress(f"names the host {host!r}, which is no host name")
    elif NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) and not is_address(host):
        raise BadAddress(f"names the host {host!r}: write an IP address as four decimal numbers, as in 192.0.2.1")


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(1000)
def problem_with(url: str, policy: Policy | None = None) -> str:
    """Why this URL is not called, as far as can be told without resolving its host; "" where nothing is wrong."""
    try:
        target = parse(url)
    except BadAddress as error:
        return str(error)
    if policy is None:
        return ""
    if target.literal:
        return objection(target, target.literal, policy)
    # A name may lead into an allowed network: that is seen when it is resolved.
    if policy.allowed.networks or policy.allowed.trusts_name(target.host):
        return ""
    return objection_to_shape(target, policy)


def objection(target: Target, address: Address, policy: Policy) -> str:
    """Why this address is not called, "" if it may be."""
    if policy.allowed.covers(target.host, address):
        return ""
    if why := not_public(address):
        return f"leads to {address}, which is {why}: only what JOBS_WEBHOOK_ALLOW names may be so"
    return objection_to_shape(target, policy)


def objection_to_shape(target: Target, policy: Policy) -> str:
    if target.scheme != "https":
        return "must begin with https://: http is only for hosts and networks that JOBS_WEBHOOK_ALLOW names"
    if target.port not in policy.ports:
        ports = ", ".join(map(str, sorted(policy.ports)))
        return f"has port {target.port}; JOBS_WEBHOOK_PORTS has {ports}"
    return ""


def not_public(address: Address) -> str:
    """Why an address is not one of the Internet; "" if it is."""
    if address in NAT64:
        return not_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    for network, why in SPECIAL:
        if address in network:
            return why
    return "reserved" if address.version == 6 and address not in PUBLIC_IPV6 else ""


def network_of(address: str) -> str:
    """Who counts as one caller: an IPv6 customer has 2^64 addresses or more."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
