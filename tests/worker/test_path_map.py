"""Folders that both sides see, by the names that each has for them."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from jobs.conf import conf
from jobs.worker.path_map import has_map, mapped


def test_the_longest_folder_that_fits_counts_and_only_where_it_is_mounted(settings, tmp_path: Path):
    assert (has_map(), mapped("/srv/media/a.mp4")) == (False, None)
    (tmp_path / "media").mkdir()
    (tmp_path / "videos").mkdir()
    settings.JOBS_PATH_MAP = (
        f"/srv/media={tmp_path}/media, /srv/media/videos/={tmp_path}/videos/,/srv/gone={tmp_path}/gone"
    )
    assert mapped("/srv/media/sources/a.mp4") == tmp_path / "media/sources/a.mp4"
    assert mapped("/srv/media/videos/1/x") == tmp_path / "videos/1/x"
    assert [mapped(path) for path in ("/srv/mediathek/a", "/etc/passwd", "", None, "/srv/gone/a")] == [None] * 5


@pytest.mark.parametrize("value", ["/srv/media", "srv=/mnt", "/srv=mnt", "/a=/b,c"])
def test_half_a_pair_is_refused(settings, value):
    settings.JOBS_PATH_MAP = value
    with pytest.raises(ImproperlyConfigured, match="JOBS_PATH_MAP"):
        _ = conf.PATH_MAP
