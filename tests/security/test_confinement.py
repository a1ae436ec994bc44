"""A confined program: each limit is met by a program that goes beyond it, and a video is made within all of them."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.exceptions import CommandFailed
from jobs.handlers.commands import Commands
from jobs.handlers.confinement import Confinement
from jobs.machine import cpu_count
from jobs.videos.lifecycle import reach
from jobs.videos.transcoding import probe
from jobs.videos.transcoding.confined import confinement, environment
from jobs.videos.transcoding.ffmpeg import run_ffmpeg
from jobs.videos.transcoding.source import Source, VideoStream
from jobs.videos.transcoding.task import Task
from tests.handlers.programs import python

MB = 1 << 20
NOBODY = 65534
run = Commands(lambda: None).run
Teller = Callable[[str], dict[str, object]]


def has_own_network() -> bool:
    """Whether this machine lets a program be taken off the network: containers often do not. Not asked of our own code,
    which would excuse itself."""
    namespaces = ["--net"] if os.geteuid() == 0 else ["--user", "--net"]
    return subprocess.run(["unshare", *namespaces, "true"], capture_output=True, check=False).returncode == 0


needs_namespaces = pytest.mark.skipif(not has_own_network(), reason="this machine allows no network namespaces")


def test_memory_ends_where_it_is_told_to():
    takes = python(f"block = bytearray({300 * MB}); print(len(block))")
    assert run(takes, confinement=Confinement(memory=600 * MB)).stdout.strip() == str(300 * MB)
    with pytest.raises(CommandFailed, match="MemoryError"):
        run(takes, confinement=Confinement(memory=200 * MB))


def test_computing_ends_where_it_is_told_to():
    with pytest.raises(CommandFailed) as failed:
        run(python("while True: pass"), confinement=Confinement(cpu_seconds=1), timeout=60)
    assert failed.value.returncode == -signal.SIGXCPU


def test_whoever_ignores_that_is_killed():
    ignoring = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    with pytest.raises(CommandFailed) as failed:
        run(python(ignoring), confinement=Confinement(cpu_seconds=1), timeout=60)
    assert failed.value.returncode == -signal.SIGKILL


def test_no_file_grows_beyond_what_it_is_told(tmp_path: Path):
    writes = ["dd", "if=/dev/zero", f"of={tmp_path / 'file'}", "bs=64k", "count=32"]  # two megabytes
    run(writes, confinement=Confinement(file_size=2 * MB))
    with pytest.raises(CommandFailed) as failed:
        run(writes, confinement=Confinement(file_size=MB))
    assert failed.value.returncode == -signal.SIGXFSZ
    assert (tmp_path / "file").stat().st_size == MB


def test_no_limit_is_raised_again():
    """By a program without the rights of root: those may raise what they like."""
    raises = (
        "import os, resource as r; os.setuid(65534)\n"
        "try: r.setrlimit(r.RLIMIT_DATA, (-1, -1))\n"
        "except ValueError: print('no')"
    )
    assert run(python(raises), confinement=Confinement(memory=1024 * MB)).stdout.strip() == "no"


def test_no_program_gains_rights_and_none_leaves_a_core():
    said = run(["cat", "/proc/self/status", "/proc/self/limits"], confinement=Confinement()).stdout
    assert "NoNewPrivs:\t1\n" in said
    assert [line.split()[4:6] for line in said.splitlines() if line.startswith("Max core")] == [["0", "0"]]
    assert "NoNewPrivs:\t0\n" in run(["cat", "/proc/self/status"]).stdout


CALLS = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).close(); print('called')"


@needs_namespaces
def test_nobody_is_called():
    with socket.create_server(("127.0.0.1", 0)) as server:
        call = [*python(CALLS), str(server.getsockname()[1])]
        assert run(call, confinement=Confinement(network=True)).stdout == "called\n"
        with pytest.raises(CommandFailed, match="unreachable"):
            run(call, confinement=Confinement())


AS_NOBODY = """
import json, os, sys
from jobs.handlers.commands import Commands
from jobs.handlers.confinement import Confinement, prctl
os.setgid(65534), os.setuid(65534)
prctl(4, 1)  # readable by its user, as a process is that was always this user's
ours, results = f"/proc/{os.getpid()}/environ", []
for confinement in (None, Confinement()):
    read = Commands(lambda: None).run(["cat", ours], check=False, confinement=confinement)
    written = Commands(lambda: None).run(["dd", f"of={sys.argv[1]}"], check=False, confinement=confinement)
    results.append(["hunter2" in read.stdout, written.returncode, os.stat(sys.argv[1]).st_uid])
print(json.dumps(results))
"""


@needs_namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_who_is_not_root_cannot_read_our_secrets_from_inside_and_still_works(tmp_path: Path):
    """The environment of the worker is not to be read; files are written as ever."""
    os.chmod(tmp_path, 0o777)
    for parent in tmp_path.parents[:-2]:
        os.chmod(parent, parent.stat().st_mode | 0o055)
    said = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, tmp_path / "made"], capture_output=True, text=True, check=False,
        env={**os.environ, "PASSWORD": "hunter2"}, timeout=60,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout) == [[True, 0, NOBODY], [False, 0, NOBODY]]


def test_a_confined_program_dies_with_us_all_the_same():
    """A namespace of its own makes the kernel forget whom a process dies with, if that was said before."""
    starts = (
        "import os, sys; from jobs.handlers.confinement import Confinement; from jobs.handlers.process import Process\n"
        "process = Process(); process.start(['sleep', '300'], confinement=Confinement())\n"
        "print(process.pid, flush=True); sys.stdin.read(); os._exit(0)"
    )
    parent = subprocess.Popen(python(starts), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdin
    assert parent.stdout
    watch = os.pidfd_open(int(parent.stdout.readline()))
    parent.communicate()  # closes its input: it ends without a word to its program
    gone, _, _ = select.select([watch], [], [], 20)
    os.close(watch)
    assert gone


# What ffmpeg and the probe are given


def test_ffmpeg_is_told_no_secret(monkeypatch: pytest.MonkeyPatch):
    for name in ("SECRET_KEY", "DATABASE_URL", "JOBS_WEBHOOK_SECRET", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    told = environment()
    assert "hunter2" not in told.values()
    assert (told["CUDA_VISIBLE_DEVICES"], told["PATH"]) == ("1", os.environ["PATH"])


def test_an_operator_may_do_without(settings: LazySettings):
    settings.JOBS_VIDEO_MEMORY = 5
    assert confinement(cpu_seconds=7, file_size=9) == Confinement(memory=5, cpu_seconds=7, file_size=9, network=False)
    settings.JOBS_VIDEO_CONFINED = False
    assert confinement() is None


@pytest.fixture
def teller(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Teller:
    """Of what a program said of itself, all that depends on who began it."""
    settings.JOBS_VIDEO_MEMORY = 1024 * MB
    monkeypatch.setenv("SECRET_KEY", "hunter2")

    def told(said: str) -> dict[str, object]:
        about: dict[str, object] = json.loads(said)
        assert (about.pop("network") == os.readlink("/proc/self/ns/net")) != has_own_network()
        return about

    return told


def test_the_check_of_what_remote_workers_send_is_confined_in_the_web_server_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, teller: Teller
):
    monkeypatch.setattr(reach, "CHILD", "tests.security.tells_of_itself")
    assert teller(reach.ask_child(tmp_path)) == {
        "memory": 1024 * MB, "cpu_seconds": 900 * cpu_count(), "file_size": MB, "core": 0, "no_new_rights": "1",
        "secrets": [],
    }  # fmt: skip


def test_ffmpeg_is_confined_wherever_it_is_run(settings: LazySettings, tmp_path: Path, teller: Teller):
    """In its place is a script that says what it may."""
    ffmpeg, said = tmp_path / "ffmpeg", tmp_path / "said"
    ffmpeg.write_text(f"#!/bin/sh\nexec {sys.executable} -m tests.security.tells_of_itself > {said}\n")
    ffmpeg.chmod(0o755)
    settings.JOBS_FFMPEG = str(ffmpeg)
    source = Source("mov", 10.0, 1, VideoStream(0, "h264", 320, 180, Fraction(30)))
    task = Task(source, tmp_path / "a.mp4", "sources/1/a.mp4", tmp_path, "attempt", run)
    run_ffmpeg(task, [task.ffmpeg], timeout=20)
    assert teller(said.read_text()) == {
        "memory": 1024 * MB, "cpu_seconds": 20 * cpu_count(), "file_size": (512 + 8 * 10) * MB, "core": 0,
        "no_new_rights": "1", "secrets": [],
    }  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--count-frames"]])
def test_so_is_the_child_of_the_probe_before_it_confines_itself(
    options: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, teller: Teller
):
    monkeypatch.setattr(probe, "CHILD", "tests.security.tells_of_itself")
    told = teller(json.dumps(probe.ask_child(tmp_path, run, probe.LIMITS, *options)))
    assert (told["memory"], told["core"], told["no_new_rights"], told["secrets"]) == (1024 * MB, 0, "1", [])


def test_a_check_that_goes_beyond_its_limits_is_told_as_such(settings: LazySettings, tmp_path: Path):
    settings.JOBS_VIDEO_MEMORY = MB  # not even Python begins with that
    with pytest.raises(reach.NotChecked, match="the check ended with"):
        reach.ask_child(tmp_path)
