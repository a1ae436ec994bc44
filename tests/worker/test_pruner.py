"""The worker's pruner: it asks soon after the start, then each interval; off at 0; it stops when the worker does."""

import pytest

from jobs.models import Job
from jobs.states import Status
from jobs.worker import pruner
from jobs.worker.options import WorkerOptions
from jobs.worker.pruner import Pruner
from tests.concurrency.threads import wait_until
from tests.factories import age, job_in

DAY = 86_400


@pytest.mark.django_db(transaction=True)
def test_it_prunes_in_a_thread_of_its_own(client, monkeypatch):
    job_in(Status.COMPLETED)
    age(31 * DAY)
    monkeypatch.setattr(pruner, "FIRST", 0.01)
    thread = Pruner(client)
    thread.start()
    try:
        wait_until(lambda: Job.objects.filter(stale_at__isnull=False).exists())
    finally:
        thread.stop()
        thread.join(20)
    assert not thread.is_alive()


def test_the_first_look_comes_soon_and_the_next_after_the_interval(settings):
    class Client:
        def prune_in_turn(self, go_on):
            assert go_on()
            thread.stop()
            assert not go_on()

        def hang_up(self):
            pass

    thread = Pruner(Client())  # type: ignore[arg-type]
    settings.JOBS_PRUNE_INTERVAL = 3600
    assert 48 <= thread.pause() <= 72
    thread.prune()
    assert 2880 <= thread.pause() <= 4320
    settings.JOBS_PRUNE_INTERVAL = 10
    assert 8 <= thread.pause() <= 12


@pytest.mark.parametrize(("interval", "reaps", "prunes"), [(3600, True, True), (0, True, False), (3600, False, False)])
def test_who_prunes(settings, interval, reaps, prunes):
    settings.JOBS_PRUNE_INTERVAL = interval
    assert WorkerOptions(reaps=reaps).is_pruner == prunes
