"""Which process a worker is, and what counts as proof that it is dead."""

import os
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from jobs import process_identity
from jobs.process_identity import ProcessIdentity, proven_dead, read_stat, this_process
from tests.processes import dead_process, running_process


def test_this_process_is_provable_and_alive():
    here = this_process()
    assert here.provable
    assert (here.pid, here.start_ticks) == (os.getpid(), read_stat(os.getpid())[1])
    assert not proven_dead(here, here)


def test_its_identity_stays_the_same():
    assert this_process() == this_process()


def test_a_process_that_has_exited_is_dead_and_one_that_runs_is_not():
    here = this_process()
    with running_process() as (_, other):
        assert not proven_dead(other, here)
    assert proven_dead(other, here)


def test_a_stopped_process_is_alive():
    with running_process() as (child, other):
        child.send_signal(signal.SIGSTOP)
        try:
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
            assert read_stat(child.pid)[0] == "T"
            assert not proven_dead(other, this_process())
        finally:
            child.send_signal(signal.SIGCONT)


def test_a_zombie_is_dead():
    with running_process() as (child, other):
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert read_stat(child.pid)[0] == "Z"
        assert proven_dead(other, this_process())


def test_another_process_under_the_same_pid_is_not_the_same():
    here = this_process()
    assert proven_dead(replace(here, start_ticks=here.start_ticks + 1), here)


@pytest.mark.parametrize("difference", [{"boot_id": "another"}, {"pid_namespace": 1}])
def test_nothing_is_proven_about_another_boot_or_namespace(difference):
    dead, here = dead_process(), this_process()
    assert proven_dead(dead, here)
    assert not proven_dead(replace(dead, **difference), here)


@pytest.mark.parametrize("unknown", [{"boot_id": ""}, {"pid_namespace": 0}, {"start_ticks": 0}])
def test_nothing_is_proven_with_half_an_identity(unknown):
    dead, here = dead_process(), this_process()
    half_here, half_dead = replace(here, **unknown), replace(dead, **unknown)
    assert not half_here.provable
    assert not proven_dead(half_dead, here)
    assert not proven_dead(dead, half_here)
    assert not proven_dead(half_dead, half_here)


def test_a_name_with_spaces_and_brackets_is_read_past(tmp_path: Path):
    sleep = shutil.which("sleep")
    assert sleep
    odd = tmp_path / "x) R 1 (y"
    odd.symlink_to(sleep)
    child = subprocess.Popen([odd, "60"])
    try:
        assert "x) R 1 (y" in Path(f"/proc/{child.pid}/stat").read_text()
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        state, ticks = read_stat(child.pid)
        assert state == "T"
        assert ticks >= this_process().start_ticks
    finally:
        child.kill()
        child.wait(timeout=20)


def test_a_pid_that_nobody_has_reads_as_nothing():
    assert read_stat(2**22 + 1) == ("", 0)


def test_without_proc_nothing_is_proven(monkeypatch, tmp_path: Path):
    dead = dead_process()
    monkeypatch.setattr(process_identity, "PROC", tmp_path)
    here = this_process()
    assert here == ProcessIdentity(here.hostname, os.getpid())
    assert not here.provable
    assert not proven_dead(dead, here)
