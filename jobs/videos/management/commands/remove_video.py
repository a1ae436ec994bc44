"""`manage.py remove_video`: delete a video for good."""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs.management.base import JobyardCommand, refuse
from jobs.management.text import told
from jobs.sanitise import printable
from jobs.videos.lifecycle.remove import Removed, remove_video
from jobs.videos.management.arguments import add_slug
from jobs.videos.models import Video
from jobs.videos.selectors import find_video


class Command(JobyardCommand):
    help = """Delete a video for good, with its source and all its versions. A job of it that waits is cancelled, one
that runs is asked to stop. Asks before it does, unless told --yes."""
    examples = """  manage.py remove_video a-film
  manage.py remove_video a-film --yes --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_slug(parser)
        parser.add_argument("--yes", action="store_true", help="do not ask; needed where nobody can be asked")

    def handle(self, *args: Any, **options: Any) -> None:
        video = find_video(options["slug"])
        if not options["yes"]:
            self.ask(video)
        removed = remove_video(video)
        jobs = {"cancelled": removed.jobs.cancelled, "asked_to_stop": removed.jobs.requested}
        self.answer({"id": removed.video_id, "slug": removed.slug, **jobs}, *sentences(removed))

    def ask(self, video: Video) -> None:
        """On standard error, so that standard output stays the result's."""
        if not sys.stdin.isatty():
            refuse("Deleting is for good: add --yes where nobody can be asked.")
        question = f"Delete “{printable(video.title)}” with all its files for good? [y/N] "
        self.stderr.write(question, self.style.WARNING, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CommandError("Nothing was deleted.")


def sentences(removed: Removed) -> list[str]:
    done = [f"Removed /videos/{removed.slug}/ with its files."]
    if removed.jobs.cancelled:
        done.append(told("Cancelled", removed.jobs.cancelled))
    if removed.jobs.requested:
        done.append(told("Asked to stop", removed.jobs.requested))
    return done
