"""`manage.py check_video`: is what is published as it should be?"""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs.handlers.files import job_storage
from jobs.management.base import FAILED, JobyardCommand
from jobs.management.text import counted
from jobs.sanitise import printable
from jobs.videos.exceptions import NotPublished
from jobs.videos.management.arguments import add_slug
from jobs.videos.models import Video
from jobs.videos.names import version_folder
from jobs.videos.selectors import find_video
from jobs.videos.stored import as_local_folder
from jobs.videos.transcoding.validate import problems_of


class Command(JobyardCommand):
    help = """Check the published version of a video as it was checked before it was published: playlists, every file,
segments that begin with a keyframe and follow each other without gaps, equal boundaries in all
qualities, durations and bandwidths as stated. --thorough also decodes everything, which takes longer."""
    examples = """  manage.py check_video a-film
  manage.py check_video a-film --thorough --json"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_slug(parser)
        parser.add_argument("--thorough", action="store_true", help="decode every picture and all sound")

    def handle(self, *args: Any, **options: Any) -> None:
        video = find_video(options["slug"])
        problems = check(video, thorough=options["thorough"])
        document = {
            "slug": video.slug,
            "version": video.version,
            "thorough": options["thorough"],
            "problems": problems,
        }
        fine = f"/videos/{video.slug}/ is as it should be: version {video.version}."
        self.answer(document, *([printable(problem) for problem in problems] or [fine]))
        if problems:
            raise CommandError(f"/videos/{video.slug}/ has {counted(len(problems), 'problem')}.", returncode=FAILED)


def check(video: Video, *, thorough: bool) -> list[str]:
    if not video.version:
        raise NotPublished(video=repr(video.slug))
    with as_local_folder(job_storage(), version_folder(video.pk, video.version)) as folder:
        return problems_of(folder, thorough)
