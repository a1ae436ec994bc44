"""Names that look like a setting of ours and are none: whoever mistypes one would never know that it is not read."""

import difflib
import os
import re
from collections.abc import Iterator

from django.conf import settings

from jobs.conf import all_settings
from jobs.setting import PREFIX

# Kubernetes tells every container of a service called `jobs`, or `jobs-…`, by variables of such names.
OF_A_SERVICE = re.compile(r"_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|^JOBS_(\w+_)?PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?$")


def known_names() -> set[str]:
    return {PREFIX + setting.name for setting in all_settings()}


def unknown_names() -> Iterator[tuple[str, str]]:
    """Each with where it stands."""
    known = known_names()
    for name in sorted(set(dir(settings)) - known):
        if name.startswith(PREFIX):
            yield name, "Django's settings"
    for name in sorted(set(os.environ) - known):
        if name.startswith(PREFIX) and not OF_A_SERVICE.search(name):
            yield name, "the environment"


def nearest(name: str) -> str:
    """The setting that may have been meant, or nothing."""
    return next(iter(difflib.get_close_matches(name, known_names(), n=1)), "")
