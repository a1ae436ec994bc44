"""The kinds of the demo: small, but they do real work on real files."""

import hashlib
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from jobs import Fatal, handler, pipeline
from jobs.handlers.context import Context


def output(name: str) -> Path:
    folder = Path(settings.MEDIA_ROOT) / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


@contextmanager
def written_whole(target: Path, ctx: Context) -> Iterator[Path]:
    """Where to write what will be the target: two jobs may make the same file at once, and each must find it whole."""
    part = target.with_name(f"{target.name}.{ctx.job_id}-{ctx.claim_id}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def source_files(folder: str) -> list[Path]:
    base = Path(settings.BASE_DIR) / folder
    files = sorted(path for path in base.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    if not files:
        raise Fatal(f"There is no file in the folder {folder!r}.")  # no retry will change that
    return files


@handler("demo.checksum", queue="default")
def checksum(ctx: Context, folder: str) -> dict[str, Any]:
    """One SHA-256 over all files of a folder, with progress."""
    digest, files = hashlib.sha256(), source_files(folder)
    for number, path in enumerate(files, start=1):
        digest.update(path.read_bytes())
        ctx.progress(100 * number / len(files), path.name)
    return {"files": len(files), "sha256": digest.hexdigest()}


@handler("demo.flaky", queue="default", max_attempts=3, backoff="fixed:0")
def flaky(ctx: Context) -> str:
    """Fails the first time, as a service that was just restarting would make it fail."""
    if ctx.attempt == 1:
        raise ConnectionError("the service did not answer")
    return f"worked at attempt {ctx.attempt}"


archive = pipeline("demo.archive", queue="archive")


@archive.phase("collect")
def collect(ctx: Context, folder: str) -> list[str]:
    return [str(path.relative_to(settings.BASE_DIR)) for path in source_files(folder)]


@archive.phase("compress", weight=3)
def compress(ctx: Context, folder: str) -> str:
    names, target = ctx.phase_result("collect"), output(f"{folder}.tar.gz")
    with written_whole(target, ctx) as part, tarfile.open(part, "w:gz") as tar:
        for number, name in enumerate(names, start=1):
            tar.add(Path(settings.BASE_DIR) / name, arcname=name)
            ctx.progress(100 * number / len(names), name)
    return target.name


@archive.phase("verify")
def verify(ctx: Context, folder: str) -> dict[str, Any]:
    with tarfile.open(output(ctx.phase_result("compress"))) as tar:
        members = tar.getnames()
    if members != ctx.phase_result("collect"):
        raise RuntimeError("the archive does not hold what was collected")
    return {"archive": ctx.phase_result("compress"), "members": len(members)}
