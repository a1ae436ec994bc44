"""One look for all readers: what it tells fits together."""

import pytest

from jobs.api.events import source
from jobs.api.events.source import Source
from jobs.api.events.wanted import Topic, Wanted
from tests.factories import claimed, make_job

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_is_told_that_one_more_runs_is_told_which(monkeypatch: pytest.MonkeyPatch):
    """Also where it begins in the midst of a look: the number is not told ahead of the job."""
    job, count, begun = make_job(), source.depth_document, list[object]()

    def claim_and_count() -> object:
        begun.append(claimed(job=job))
        return count()

    looker = Source()
    monkeypatch.setattr(source, "depth_document", claim_and_count)
    news = looker.look({Wanted(Topic.JOBS)})
    assert begun
    assert news.depth
    assert news.depth["running"] == 1
    assert news.jobs[job.pk]["state"] == "claimed"
