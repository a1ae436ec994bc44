"""PostgreSQL cleans our tables as the migration says."""

import pytest

from jobs.models import Job, Turn
from tests.concurrency.threads import scalar

OPTIONS = "SELECT coalesce(array_to_string(reloptions, ' '), '') FROM pg_class WHERE relname = %s"


@pytest.mark.postgres
@pytest.mark.django_db
def test_the_tables_have_their_own_settings():
    assert "autovacuum_vacuum_scale_factor=0.02" in scalar(OPTIONS, Job._meta.db_table)
    assert "autovacuum_vacuum_scale_factor=0 " in scalar(OPTIONS, Turn._meta.db_table)
