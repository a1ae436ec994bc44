"""Storage that both sides see: what the server calls a folder, as this machine calls it (JOBS_PATH_MAP)."""

from pathlib import Path

from jobs.conf import conf


def has_map() -> bool:
    return bool(conf.PATH_MAP)


def mapped(path: str | None) -> Path | None:
    """The server's path here; None where it is in no folder that we share, or that one is not mounted.

    Of several that fit, the longest counts.
    """
    if not path:
        return None
    for there, here in sorted(conf.PATH_MAP.items(), key=lambda pair: -len(pair[0])):
        if path == there or path.startswith(f"{there}/"):
            return Path(here + path[len(there) :]) if Path(here).is_dir() else None
    return None
