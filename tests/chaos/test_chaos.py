"""A minute of everything at once, with a fixed seed."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.postgres  # of its own
SECONDS, SEED = 60, 1
LONGEST = 1200.0  # where something hangs, it says what


def test_every_promise_is_kept_through_a_minute_of_faults():
    command = [sys.executable, "-m", "tests.chaos", "--seconds", str(SECONDS), "--seed", str(SEED)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("verdict: every promise kept\n")
