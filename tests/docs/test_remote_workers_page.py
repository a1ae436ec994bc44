"""docs/remote-workers.md leaves out no error, no status and no call of the worker API."""

from pathlib import Path

import pytest
from django.conf import settings

from jobs.api.docs_page import openapi
from jobs.api.errors import TABLE
from jobs.wire.names import Code

pytestmark = pytest.mark.once
PAGE = (Path(settings.BASE_DIR) / "docs" / "remote-workers.md").read_text()
ERRORS = PAGE.split("\n## Errors")[1].split("\n## ")[0]
CALLS = {path: said for path, said in openapi()["paths"].items() if path.startswith("/api/worker/")}


def test_every_error_and_every_status_is_told():
    codes = {*Code, *(code for _, _, code, _ in TABLE)}
    assert [code for code in sorted(codes) if f"`{code}`" not in ERRORS] == []
    statuses = {status for methods in CALLS.values() for said in methods.values() for status in said["responses"]}
    told = ERRORS.replace(",", " ").split()
    assert [status for status in sorted(map(str, statuses)) if status != "200" and status not in told] == []


def test_every_call_is_told():
    names = {path.removeprefix("/api/worker/").removeprefix("{job_id}/") for path in CALLS}
    words = set(PAGE.replace("`", " ").replace(",", " ").replace("}/", "} ").split())
    assert sorted(names - words - {"files/{path}"}) == []
    assert "`PUT files/{path}`" in PAGE
