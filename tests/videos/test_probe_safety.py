"""What a hostile file cannot do: open others, call somebody, or take the machine's time and memory."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pytest

from jobs.exceptions import CommandFailed
from jobs.handlers.commands import Commands
from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.probe import CHILD, LIMITS, Limits, probe
from tests.videos import bad_sources, sources
from tests.videos.watching import listening, watched

run = Commands(lambda: None).run
Disguise = Callable[..., Path]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


def why_refused(path: Path, limits: Limits = LIMITS) -> str:
    with pytest.raises(Refused) as refused:
        probe(path, run, limits)
    return str(refused.value)


# Playlists and scripts


@pytest.mark.parametrize(
    "disguise",
    [
        bad_sources.write_playlist,
        bad_sources.write_concat_script,
        bad_sources.write_dash_manifest,
        bad_sources.write_session_description,
    ],
)
def test_what_a_playlist_names_is_left_alone(disguise: Disguise, folder, tmp_path):
    named = sources.container("ts", folder)
    with listening() as listener, watched(named) as watch:
        address = f"http://127.0.0.1:{listener.port}/video.ts"
        path = disguise(tmp_path / "video.mp4", str(named), f"file:{named}", "/etc/passwd", address)
        assert "It is a playlist or a script, not a video" in why_refused(path)
        assert not listener.was_called
        assert not watch.was_opened


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b"\n\n  ", b"\r\n"])
def test_a_playlist_behind_a_mark_or_white_space(prefix, tmp_path):
    path = bad_sources.write_playlist(tmp_path / "video.mp4", "/etc/passwd")
    path.write_bytes(prefix + path.read_bytes())
    assert "It is a playlist" in why_refused(path)


@pytest.mark.parametrize("name", ["playlist.m3u8", "video.m3u8", "script.ffconcat", "video.txt", "image%03d.jpg"])
def test_the_name_does_not_open_a_door(name, folder, tmp_path):
    named = sources.container("ts", folder)
    with watched(named) as watch:
        why_refused(bad_sources.write_playlist(tmp_path / name, str(named)))
        assert not watch.was_opened


def test_the_watches_do_see(folder):
    with listening() as listener, watched(sources.landscape(folder)) as watch:
        sources.landscape(folder).read_bytes()
        assert watch.was_opened
        with pytest.raises(OSError):
            urlopen(f"http://127.0.0.1:{listener.port}/", timeout=0.1)
        assert listener.was_called


# Limits


def test_the_child_lowers_its_limits_for_good():
    """Its own main(), which here answers with its limits instead of looking at a file."""
    names = ["RLIMIT_CORE", "RLIMIT_NOFILE", "RLIMIT_CPU", "RLIMIT_AS"]
    program = (
        f"import resource, sys; from {CHILD.rpartition('.')[0]} import probe_child\n"
        f"probe_child.answer = lambda path: [resource.getrlimit(getattr(resource, name)) for name in {names}]\n"
        "probe_child.main()"
    )
    argv = [sys.executable, "-c", program, *LIMITS.as_options(), "file"]
    core, files, seconds, memory = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    assert (core, files, seconds) == ([0, 0], [16, 16], [LIMITS.cpu_seconds, LIMITS.cpu_seconds + 1])
    assert memory == [LIMITS.memory, LIMITS.memory]


def test_a_file_that_takes_too_much_computing(folder):
    assert "took too much computing" in why_refused(bad_sources.endless(folder), replace(LIMITS, cpu_seconds=1))


def test_a_file_that_takes_too_long(folder):
    assert "took longer than 0.01 s" in why_refused(sources.landscape(folder), replace(LIMITS, seconds=0.01))


def test_a_file_that_takes_too_much_memory(folder):
    limits = replace(LIMITS, memory=180 << 20)
    assert probe(sources.landscape(folder), run, limits)
    assert "more memory" in why_refused(bad_sources.vast(folder), limits)


def test_a_reader_that_crashes_is_the_fault_of_the_file(folder):
    assert "crashed the reader" in why_after(signal.SIGSEGV, folder)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_reader_that_somebody_kills_is_not(number, folder):
    with pytest.raises(CommandFailed) as failed:
        why_after(number, folder)
    assert failed.value.returncode == -number


def test_a_reader_that_does_not_even_start_is_not(folder):
    def run_nothing(argv, **options):
        return run([sys.executable, "-c", "import a_module_that_is_missing"], **options)

    with pytest.raises(CommandFailed, match="a_module_that_is_missing"):
        probe(sources.landscape(folder), run_nothing)


def why_after(number: signal.Signals, folder: Path) -> str:
    """Why the probe refuses when this signal ends its child."""

    def run_and_die(argv, **options):
        return run([sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(number)})"], **options)

    try:
        probe(sources.landscape(folder), run_and_die)
    except Refused as refused:
        return str(refused)
    return ""
