"""`manage.py retranscode_video`: make a new version of a video."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.management.base import JobyardCommand
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.management.arguments import add_slug, add_split, add_strict, quality_names
from jobs.videos.selectors import find_video


class Command(JobyardCommand):
    help = """Order a new version of a video: in all qualities, or in the named ones, beside which the published
others are kept. The version that is there is watched until the new one takes its place. While a job of
the video waits or runs, there is no second one: that job is named."""
    examples = """  manage.py retranscode_video a-film
  manage.py retranscode_video a-film --quality 2160p,1440p --strict --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_slug(parser)
        parser.add_argument(
            "--quality", type=quality_names, metavar="Q,Q", help="only these qualities (default: all anew)"
        )
        add_strict(parser)
        add_split(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        video = find_video(options["slug"])
        ordered = retranscode(video, options["quality"], options["strict"], split=options["split"])
        met = f"Nothing new: job {ordered.job_id} of /videos/{video.slug}/ is pending or running already."
        self.answer(
            {"slug": video.slug, "job_id": ordered.job_id, "created": ordered.created},
            f"Job {ordered.job_id} makes a new version of /videos/{video.slug}/." if ordered.created else met,
        )
