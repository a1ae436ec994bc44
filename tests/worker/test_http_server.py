"""Where a remote worker finds its server and its key: half of it, and a key that others can read, are refused."""

import os
import sys

import pytest
from django.core.management import CommandError, call_command

from jobs.exceptions import InvalidInput
from jobs.worker.http_server import Server, server_of

KEY = "worker_0123abcd_" + "x" * 43  # of the right shape, and the same in all processes that collect these tests
SITE = "https://jobs.example.org/yard"


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "worker.key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    return path


def test_a_worker_without_any_of_it_has_the_database():
    assert server_of("", "", "") is None


def test_a_server_and_a_key_make_a_remote_worker(key_file):
    server = server_of(SITE, str(key_file), "")
    assert server is not None
    assert (server.key, server.api) == (KEY, f"{SITE}/api/worker/")
    assert KEY not in repr(server)
    assert server_of(f"{SITE}/", "", KEY) != server  # each process has a name of its own


@pytest.mark.parametrize(
    ("url", "file", "key", "words"),
    [
        ("", "k", "", "--key-file is given, but no server"),
        ("", "", KEY, "JOBS_WORKER_KEY is given, but no server"),
        (SITE, "", "", "but no key"),
        (SITE, "", "secret", "JOBS_WORKER_KEY holds no worker's key"),
        ("jobs.example.org", "", KEY, "must begin with http:// or https://"),
        (f"{SITE}?x=1", "", KEY, "without ? and #"),
        ("https://me:secret@jobs.example.org", "", KEY, "must not contain a user name or a password"),
        ("http://jobs.example.org", "", KEY, "sends the worker's key and files in clear"),
    ],
)
def test_half_of_it_and_what_cannot_be_is_refused(url, file, key, words):
    with pytest.raises(InvalidInput) as refused:
        server_of(url, file, key)
    assert words in str(refused.value)
    assert KEY not in str(refused.value)


def test_who_left_the_extra_out_is_told_its_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "urllib3", None)  # as where it is not installed
    with pytest.raises(InvalidInput, match=r"needs urllib3: pip install 'jobyard\[remote\]'\.$"):
        server_of(SITE, "", KEY)


@pytest.mark.parametrize("url", ["", "  "])
def test_an_empty_server_on_the_command_line_is_no_word_for_the_database(url):
    with pytest.raises(CommandError, match="--server: it is empty"):
        call_command("runworker", f"--server={url}")


def test_without_tls_only_this_machine_is_spoken_to_unless_an_operator_allows_it(settings):
    assert isinstance(server_of("http://127.0.0.1:8000", "", KEY), Server)
    settings.JOBS_SERVER_ALLOW_HTTP = True
    assert isinstance(server_of("http://jobs.example.org", "", KEY), Server)


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644])
def test_a_key_file_that_is_open_to_others_is_refused(key_file, mode):
    key_file.chmod(mode)
    with pytest.raises(InvalidInput, match=f"run `chmod 600 {key_file}`"):
        server_of(SITE, str(key_file), "")


@pytest.mark.parametrize("content", [b"", b"not a key", b"\xff\xfe", f"{KEY}\n{KEY}".encode()])
def test_a_key_file_without_a_key_is_refused(key_file, content):
    key_file.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"holds no worker's key|it is no text"):
        server_of(SITE, str(key_file), "")


def test_a_key_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        server_of(SITE, os.fspath(tmp_path / "none"), "")
