"""The kinds of the demo: small, but they do real work on real files."""

import hashlib
import struct
import tarfile
import zlib
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


@handler("demo.fractal", queue="media")
def fractal(ctx: Context, qualities: list[int]) -> list[str]:
    """The Mandelbrot set as PNG, once per quality; each band of rows is a segment."""
    written = []
    for done, height in enumerate(qualities):
        quality, rows, bands = ctx.quality(f"{height}p"), bytearray(), list(bands_of(height))
        quality.start(segments=len(bands))
        for number, band in enumerate(bands, start=1):
            rows += b"".join(row_of_pixels(y, height) for y in band)
            quality.segments(number, total=len(bands))
            ctx.progress(100 * (done + number / len(bands)) / len(qualities), f"{height}p")
        target = output(f"fractal-{height}p.png")
        with written_whole(target, ctx) as part:
            part.write_bytes(png(height * 3 // 2, height, bytes(rows)))
        quality.complete(bytes=target.stat().st_size)
        written.append(target.name)
    return written


def bands_of(height: int, band: int = 10) -> Iterator[range]:
    return (range(start, min(start + band, height)) for start in range(0, height, band))


def row_of_pixels(y: int, height: int) -> bytes:
    """One row of 8-bit grey, led by PNG's filter byte."""
    width = height * 3 // 2
    return b"\0" + bytes(escape_time(complex(3 * x / width - 2, 2 * y / height - 1)) for x in range(width))


def escape_time(c: complex, limit: int = 63) -> int:
    z = 0j
    for step in range(limit):
        z = z * z + c
        if abs(z) > 2:
            return 4 * step
    return 255


def png(width: int, height: int, rows: bytes) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
