"""A ladder through Jobyard beside the same ffmpeg work in a plain script, and beside one command that does it all.

`python -m benchmarks.transcoding` runs this measure alone. The database is SQLite: it has nearly nothing to do here.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import django

from benchmarks.findings import Findings
from benchmarks.measure import interleave, timed

ROOT = Path(__file__).resolve().parent.parent
SIZE, RATE, GOP = "1280x720", 30, 60
RUNGS = (("720p", 1280, 720, 2800, 22, "3.1"), ("480p", 854, 480, 1400, 23, "3.1"), ("360p", 640, 360, 800, 23, "3.0"))


def measure(seconds: int, rounds: int) -> Findings:
    """Wall time of a source with sound in three qualities, from the enqueue to the published version."""
    found = Findings(f"Transcoding {seconds} s of {SIZE} into {', '.join(rung[0] for rung in RUNGS)}")
    with tempfile.TemporaryDirectory(prefix="jobyard-bench-") as name:
        folder = Path(name)
        source = make_source(folder, seconds)
        manage(folder, "migrate", "--verbosity", "0")
        sides = {
            "jobyard": partial(timed, lambda: through_jobyard(source, folder)),
            "by hand": partial(timed, lambda: by_hand(source, folder)),
            "split": partial(timed, lambda: in_one_command(source, folder)),
        }
        taken = interleave(sides, rounds=rounds, per_round=1, warm_up=0)
    for side, words in (("jobyard", "Jobyard"), ("by hand", "the same by hand"), ("split", "one split command")):
        found.milliseconds(words, taken, side)
    found.ratio("Jobyard : by hand", taken, "jobyard", "by hand", at_most=1.10)
    found.ratio("one split command : by hand", taken, "split", "by hand")
    found.samples["seconds"] = taken.as_microseconds()
    return found


def ffmpeg() -> list[str]:
    from jobs.handlers.ffmpeg import find_ffmpeg

    program = find_ffmpeg()
    assert program, "there is no ffmpeg"
    return [program, "-nostdin", "-v", "error", "-y"]


def make_source(folder: Path, seconds: int, group: int = 250) -> Path:
    """Moving picture with some noise, so that it costs what a film costs rather than what a cartoon does."""
    path = folder / "source.mp4"
    picture = f"testsrc2=size={SIZE}:rate={RATE}:duration={seconds},noise=alls=12:allf=t"
    run("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", f"sine=duration={seconds}", "-c:v", "libx264",
        "-g", str(group), "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", str(path))  # fmt: skip
    return path


def run(*arguments: str) -> None:
    subprocess.run([*ffmpeg(), *arguments], check=True)


def manage(folder: Path, *arguments: str) -> None:
    database, media = f"sqlite:///{folder / 'bench.sqlite3'}", str(folder / "media")
    environment = {**os.environ, "DEBUG": "1", "DATABASE_URL": database, "MEDIA_ROOT": media}
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def through_jobyard(source: Path, folder: Path) -> None:
    """As an operator would, with a worker that starts and ends within the time."""
    manage(folder, "transcode", "--force", "--wait", str(source))


def by_hand(source: Path, folder: Path) -> None:
    """Each quality, two at a time as Jobyard does on two cores, then the sound and the thumbnail."""
    waiting = [encode(source, folder, rung) for rung in RUNGS]
    running: list[subprocess.Popen[bytes]] = []
    while waiting or running:
        while waiting and len(running) < 2:
            running.append(subprocess.Popen([*ffmpeg(), *waiting.pop(0)]))
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        running = [process for process in running if process.poll() is None]
    run("-i", str(source), "-vn", "-ac", "2", "-ar", "48000", "-c:a", "aac", "-b:a", "128k", *hls(folder, "audio"))
    run("-ss", "1", "-i", str(source), "-frames:v", "1", str(folder / "thumbnail.jpg"))


def in_one_command(source: Path, folder: Path) -> None:
    """Decoded once for all qualities: faster, but one that fails fails them all, and none can be resumed."""
    graph = f"[0:v]split={len(RUNGS)}" + "".join(f"[s{index}]" for index in range(len(RUNGS)))
    graph += "".join(f";[s{index}]{scale(rung)}[v{index}]" for index, rung in enumerate(RUNGS))
    outputs: list[str] = []
    for index, rung in enumerate(RUNGS):
        outputs += ["-map", f"[v{index}]", *codec(rung), *hls(folder, f"split-{rung[0]}")]
    sound = ["-map", "0:a", "-ac", "2", "-c:a", "aac", "-b:a", "128k", *hls(folder, "split-audio")]
    run("-i", str(source), "-filter_complex", graph, *outputs, *sound)


def encode(source: Path, folder: Path, rung: Sequence[object]) -> list[str]:
    return ["-i", str(source), "-an", "-filter:v", scale(rung), *codec(rung), *hls(folder, str(rung[0]))]


def scale(rung: Sequence[object]) -> str:
    return f"fps={RATE},scale={rung[1]}:{rung[2]}:flags=bicubic,setsar=1,format=yuv420p"


def codec(rung: Sequence[object]) -> list[str]:
    words = f"-c:v libx264 -preset veryfast -crf {rung[4]} -maxrate {rung[3]}k -bufsize {2 * int(str(rung[3]))}k"
    words += f" -profile:v high -level:v {rung[5]} -g {GOP} -keyint_min {GOP} -sc_threshold 0"
    return words.split()


def hls(folder: Path, name: str) -> list[str]:
    (folder / name).mkdir(exist_ok=True)
    seconds = float(Fraction(3 * GOP, RATE))
    words = f"-f hls -hls_time {seconds} -hls_segment_type fmp4 -hls_playlist_type vod -hls_fmp4_init_filename init.mp4"
    return [*words.split(), "-hls_segment_filename", str(folder / name / "%05d.m4s"), str(folder / name / "a.m3u8")]


if __name__ == "__main__":
    os.environ |= {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "project.settings"}
    django.setup()
    from benchmarks.report import show

    show(measure(seconds=40, rounds=2))
