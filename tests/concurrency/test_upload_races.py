"""Files of one attempt that arrive at once: what it may have is never exceeded, and nothing is counted twice."""

import io
import threading
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.handlers.base import ClaimRef
from jobs.handlers.files import files_below, job_storage
from jobs.lifecycle.outputs.take import begin, note, require_room
from jobs.models import Output, OutputFile
from jobs.uploads.errors import TooLarge
from jobs.uploads.limits import Limits
from jobs.uploads.receiving import Announced, Landing
from tests.concurrency.threads import TIMEOUT, together
from tests.factories import claimed

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
FOLDER, AT_ONCE, SIZE, FIT = "out/1", 8, 1000, 3


@pytest.fixture
def claim(settings: LazySettings, tmp_path: Path) -> ClaimRef:
    settings.MEDIA_ROOT = tmp_path
    return claimed()


def send(claim: ClaimRef, path: str, all_begun: threading.Barrier) -> bool:
    """As the API does; it is read when all others have been let in, too."""
    output, announced, content = begin(claim, FOLDER), Announced(path, SIZE), io.BytesIO(path[:1].encode() * SIZE)
    require_room(output, announced)

    def read(size: int) -> bytes:
        if not content.tell():
            all_begun.wait(TIMEOUT)
        return content.read(size)

    try:
        Landing(job_storage(), FOLDER).receive(announced, read, Limits(), partial(note, output, claim))
    except TooLarge:
        return False
    return True


def sent(claim: ClaimRef, paths: list[str]) -> Counter[bool]:
    all_begun = threading.Barrier(len(paths))
    return Counter(together([partial(send, claim, path, all_begun) for path in paths]))


def amounts(media: Path) -> set[tuple[int, int]]:
    """As the row says, as the list of files says, and as the disk says: all the same."""
    row, sizes = Output.objects.get(), list(OutputFile.objects.values_list("size", flat=True))
    on_disk = [Path(path).stat().st_size for path in files_below(media / FOLDER)]
    return {(row.number, row.size), (len(sizes), sum(sizes)), (len(on_disk), sum(on_disk))}


@pytest.mark.parametrize("limit", ["JOBS_UPLOAD_MAX_TOTAL", "JOBS_UPLOAD_MAX_FILES"])
def test_no_more_is_kept_than_fits_however_many_come_at_once(claim, settings, tmp_path, limit):
    setattr(settings, limit, FIT * SIZE + 999 if limit.endswith("TOTAL") else FIT)
    assert sent(claim, [f"{number}.txt" for number in range(AT_ONCE)]) == {True: FIT, False: AT_ONCE - FIT}
    assert amounts(tmp_path) == {(FIT, FIT * SIZE)}


def test_a_file_that_is_sent_again_and_again_is_counted_once(claim, settings, tmp_path):
    settings.JOBS_UPLOAD_MAX_TOTAL, settings.JOBS_UPLOAD_MAX_FILES = SIZE, 1
    for _ in range(2):
        assert sent(claim, ["same.txt"] * AT_ONCE) == {True: AT_ONCE}
        assert amounts(tmp_path) == {(1, SIZE)}
