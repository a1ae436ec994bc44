"""Keys of remote workers on the command line."""

from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.models import WorkerKey
from tests.api.worker.calls import Machine
from tests.commands.calls import refused, run, run_json
from tests.factories import make_worker, shift

pytestmark = [pytest.mark.once, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _static_files(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # where there is none, WhiteNoise warns


def works(told: dict[str, str]) -> bool:
    return Machine(told["worker_id"], told["key"]).post("stop").status_code == 200  # type: ignore[arg-type]  # as text


def test_a_worker_is_registered_its_key_replaced_listed_and_revoked():
    told = run("register_worker", "gpu-box", "--expires-in", "90d")
    text = told.split()[-1]
    assert "It is shown only now" in told
    first = {"worker_id": str(WorkerKey.objects.get().worker_id), "key": text}
    assert works(first)
    second = run_json("rotate_worker_key", "gpu-box", "--overlap", "1h")
    assert [works(first), works(second)] == [True, True]
    shift(WorkerKey, 3601)
    assert [works(first), works(second)] == [False, True]
    listed = run("list_worker_keys")
    assert ("gpu-box" in listed, second["prefix"] in listed, second["key"] in listed) == (True, True, False)
    assert [len(run_json("list_worker_keys", *flags)["keys"]) for flags in ((), ("--all",))] == [1, 2]
    assert run_json("revoke_worker_key", second["prefix"]) == {"revoked": [second["prefix"]]}
    assert not works(second)
    assert "was not valid any more" in run("revoke_worker_key", "--worker", "gpu-box")
    assert run_json("list_worker_keys") == {"keys": []}


def test_the_commands_refuse_what_makes_no_sense():
    make_worker("direct")
    assert refused("register_worker", " ").code == 2
    assert refused("rotate_worker_key", "nobody").code == 1
    assert refused("rotate_worker_key", "direct").sentence == "Worker direct has the database at hand and no keys."
    assert refused("revoke_worker_key").code == 2
    assert refused("revoke_worker_key", "00000000", "--worker", "x").code == 2
    assert refused("revoke_worker_key", "00000000").sentence.startswith("There is no key '00000000'")
