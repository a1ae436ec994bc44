"""Web addresses: what shape is refused at once and in which words, and who is allowed."""

import ipaddress

import pytest

from jobs.web_address import Allowed, Policy, not_public, parse, problem_with

STRICT = Policy()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.org/", "must begin with http:// or https:// and name a host"),
        ("example.org", "must begin with"),
        ("https://", "name a host"),
        ("https:///path", "name a host"),
        ("https://[::1", "must begin with"),
        ("https://example.org:99999/", "a port from 1 to 65535"),
        ("https://example.org:x/", "a port from 1 to 65535"),
        ("https://example.org:0/", "has port 0"),
        ("https://user@example.org/", "must not contain a user name"),
        ("https://user:secret@example.org/", "must not contain a user name"),
        ("https://example.org/a b", "contains a space"),
        ("https://example.org\\@evil.org/", "a backslash"),
        ("https://example.org/\r\nX-Injected: 1", "a control character"),
        ("https://exämple.org/", "xn-- form"),
        ("https://-example.org/", "no host name"),
        ("https://exam_ple..org/", "no host name"),
        ("https://example.org%2f.evil.org/", "no host name"),
        ("https://[fe80::1%25eth0]/", "no IPv6 address"),
        ("https://[v1.x]/", "must begin with|no IPv6 address"),
        ("https://2130706433/", "four decimal numbers"),
        ("https://0x7f000001/", "four decimal numbers"),
        ("https://0x7f.0x0.0x0.0x1/", "four decimal numbers"),
        ("https://0177.0.0.1/", "four decimal numbers"),
        ("https://127.1/", "four decimal numbers"),
        ("https://127.0.0.1./", "four decimal numbers"),
        ("https://127.0.0.1/", "leads to 127.0.0.1, which is loopback"),
        ("https://[::ffff:10.0.0.1]/", "an IPv4 address in disguise"),
        ("https://169.254.169.254/latest/meta-data/", "link-local"),
        ("http://example.org/", "must begin with https://"),
        ("https://example.org:22/", "has port 22; JOBS_WEBHOOK_PORTS has 443, 8443"),
        ("http://93.184.215.14/", "must begin with https://"),
    ],
)
def test_what_is_not_called_is_refused_in_clear_words(url, words):
    problem = problem_with(url, STRICT)
    assert any(each in problem for each in words.split("|")), problem


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "https://example.org:8443/a/b?c=d&e=%20#part",
        "https://xn--exmple-cua.org/",
        "https://EXAMPLE.org./",
        "https://93.184.215.14/",
        "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
    ],
)
def test_public_addresses_are_called_by_https(url):
    assert problem_with(url, STRICT) == ""


def test_an_address_is_taken_apart():
    target = parse("https://EXAMPLE.org:8443/a?b=c#d")
    assert (target.host, target.port, target.path) == ("example.org", 8443, "/a?b=c")
    assert (target.authority, target.host_and_port) == ("example.org:8443", "example.org:8443")
    plain = parse("https://[2001:4860::1]")
    assert (plain.path, plain.authority, plain.host_and_port) == ("/", "[2001:4860::1]", "[2001:4860::1]:443")


ALLOWED = Allowed.parse(["10.0.0.0/8", "hooks.internal", ".corp.example", "fd00::/8", "192.168.7.7"])


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("http://10.1.2.3:9000/", True),
        ("http://11.1.2.3/", False),
        ("http://hooks.internal:81/", True),
        ("http://HOOKS.internal./", True),
        ("http://a.corp.example/", True),
        ("https://127.0.0.1/", False),
        ("http://192.168.7.7/", True),
        ("https://192.168.7.8/", False),
        ("http://[fd00::1]/", True),
        ("http://[::ffff:10.0.0.1]/", False),
    ],
)
def test_who_is_allowed_may_be_private_without_tls_and_on_any_port(url, good):
    assert (problem_with(url, Policy(ALLOWED)) == "") is good


def test_a_name_that_may_lead_into_an_allowed_network_is_judged_when_it_is_resolved():
    assert problem_with("http://anything.example:81/", Policy(ALLOWED)) == ""
    assert problem_with("http://anything.example:81/", Policy(Allowed.parse(["hooks.internal"]))) != ""
    assert not Allowed.parse(["corp.example"]).trusts_name("evilcorp.example")
    assert not Allowed.parse([".corp.example"]).trusts_name("corp.example.evil.org")


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "*.example.org", "http://x", "127.1", "a b", "."])
def test_what_is_neither_host_nor_network_is_refused(entry):
    with pytest.raises(ValueError, match="hosts and networks like"):
        Allowed.parse([entry])


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "172.32.0.1", "100.128.0.1"])
def test_the_internet_is_public(address):
    assert not_public(ipaddress.ip_address(address)) == ""
