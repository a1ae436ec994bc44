"""`manage.py transcode`: add videos, and have them transcoded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs.exceptions import JobyardError
from jobs.management.arguments import not_empty
from jobs.management.base import FAILED, JobyardCommand, refuse
from jobs.models import Job
from jobs.sanitise import printable
from jobs.selectors.qualities import qualities_of
from jobs.states import QualityStatus
from jobs.videos.lifecycle.add import Added, add_video
from jobs.videos.management.arguments import FilesParser, add_split, add_strict, qualities_of_the_ladder
from jobs.videos.management.waiting import wait_until_ended
from jobs.videos.models import Video
from jobs.videos.selectors import library
from jobs.videos.states import VideoStatus
from jobs.videos.wanted import check_title


@dataclass
class Dealt:
    """What became of a file that was named."""

    file: str
    added: Added | None = None
    error: str = ""


class Command(JobyardCommand):
    help = """Store video files and order their transcoding into an HLS ladder of qualities.

A file whose content a video has already is not stored again; --force makes another video of it.
With --wait the command ends when all of them are ready: it waits for the workers that serve the
queue, or, if there is none, works in this process. A file that cannot be added is told of, and the
others are added all the same. File names that begin with a dash come after `--`."""
    examples = """  manage.py transcode film.mkv --title "A film" --wait
  manage.py transcode --quality 1080p,720p --strict one.mp4 two.mp4
  manage.py transcode --json -- -odd-name.mp4"""

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **options)
        parser.__class__ = FilesParser  # as the base class does: Django makes the parser itself
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "files", nargs="*", default=[], metavar="FILE", help="a video file; give any number of them"
        )
        parser.add_argument("--title", type=not_empty, metavar="T", help="its title (default: made of the file's name)")
        parser.add_argument(
            "--quality", type=qualities_of_the_ladder, metavar="Q,Q",
            help="only these qualities, as in 1080p,720p (default: all that the source has the size for)",
        )  # fmt: skip
        add_strict(parser)
        add_split(parser)
        parser.add_argument("--force", action="store_true", help="add it although a video has the same content")
        parser.add_argument("--wait", action="store_true", help="end when all are ready; 1 if one does not get there")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["title"] is not None and len(options["files"]) > 1:
            refuse(f"One title does not fit {len(options['files'])} files: leave --title out, or name one file.")
        check_title(options["title"] or "")
        dealt = [self.add(file, options) for file in options["files"]]
        if options["wait"]:
            jobs = [each.added.job_id for each in dealt if each.added and each.added.job_id]
            wait_until_ended(jobs, moving=not self.as_json and self.colour is not False)
        self.show(dealt, waited=options["wait"])

    def add(self, file: str, options: dict[str, Any]) -> Dealt:
        try:
            added = add_video(
                file,
                title=options["title"] or "",
                qualities=options["quality"],
                strict=options["strict"],
                force=options["force"],
                split=options["split"],
            )
        except JobyardError as error:
            self.stderr.write(printable(error))
            return Dealt(file, error=str(error))
        if not self.as_json:
            self.write(sentence(file, added))
        return Dealt(file, added)

    def show(self, dealt: list[Dealt], *, waited: bool) -> None:
        videos = library().in_bulk([each.added.video.pk for each in dealt if each.added])
        left_out = skipped_qualities([video.job_id for video in videos.values() if video.job_id] if waited else [])
        documents = [document(each, videos, left_out) for each in dealt]
        if self.as_json:
            self.answer({"files": documents})
        elif waited:
            for each in documents:
                if each["slug"]:
                    self.write(ending(each))
        complain(documents, waited=waited)


def sentence(file: str, added: Added) -> str:
    slug = added.video.slug
    if added.created:
        return f"Added {printable(file, 200)} as /videos/{slug}/, to be transcoded by job {added.job_id}."
    met: Any = library().filter(pk=added.video.pk).first()
    failed = ", which failed" if met and met.status == VideoStatus.FAILED else ""
    same = f"Nothing new: {printable(file, 200)} has the same content as /videos/{slug}/{failed}."
    return f"{same} To transcode that anew: manage.py retranscode_video {slug}"


def skipped_qualities(job_ids: Collection[int]) -> dict[int, dict[str, str]]:
    """By job: which of the qualities that were asked for by name are not made, and why."""
    asked = dict(Job.objects.with_ids(job_ids).values_list("pk", "payload__qualities"))
    return {
        job_id: {
            quality.name: quality.error
            for quality in qualities
            if quality.status == QualityStatus.SKIPPED and quality.name in (asked.get(job_id) or ())
        }
        for job_id, qualities in qualities_of(job_ids).items()
    }


def document(dealt: Dealt, videos: dict[int, Video], left_out: Mapping[int, dict[str, str]]) -> dict[str, Any]:
    video: Any = videos.get(dealt.added.video.pk) if dealt.added else None  # it may have been removed meanwhile
    return {
        "file": dealt.file,
        "created": bool(dealt.added and dealt.added.created),
        "id": video.pk if video else None,
        "slug": video.slug if video else None,
        "job_id": video.job_id if video else None,
        "status": video.status if video else None,
        "skipped": left_out.get(video.job_id, {}) if video else {},
        "error": dealt.error or (video.error if video else "") or None,
    }


def ending(told: dict[str, Any]) -> str:
    why = f": {printable(told['error'], 300)}" if told["error"] else "."
    status = "failed" if told["status"] == VideoStatus.FAILED else f"is {told['status']}"
    left_out = "".join(f" {name} was left out: {reason}" for name, reason in told["skipped"].items())
    return f"/videos/{told['slug']}/ {status}{why}{left_out}"


def complain(documents: list[dict[str, Any]], *, waited: bool) -> None:
    """A file that was named and is not where it should be is a failure, also when others are."""
    not_added = [told for told in documents if told["slug"] is None and told["error"]]
    unready = [told for told in documents if waited and told["status"] != VideoStatus.READY and told not in not_added]
    parts = []
    for what, bad in (("Not added", not_added), ("Not ready", unready)):
        share = f", {len(bad)} of {len(documents)} files" if len(documents) > 1 else ""
        names = ", ".join(printable(told["file"], 100) for told in bad)
        parts += [f"{what}{share}: {names}"] if bad else []
    if parts:
        raise CommandError("; ".join(parts), returncode=FAILED)
