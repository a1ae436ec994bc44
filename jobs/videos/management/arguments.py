"""What the commands about videos accept."""

from argparse import ArgumentTypeError, BooleanOptionalAction, Namespace
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from jobs.exceptions import InvalidInput
from jobs.management.base import AnyOrderParser
from jobs.videos.wanted import check_qualities


class FilesParser(AnyOrderParser):
    """What comes after `--` is the name of a file, whatever it begins with: argparse would read it a second time."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Namespace:  # type: ignore[override]
        given = list(args or ())
        end = given.index("--") if "--" in given else len(given)
        parsed = super().parse_args(given[:end], namespace)
        parsed.files = [*parsed.files, *given[end + 1 :]]
        if not parsed.files:
            self.error("the following arguments are required: FILE")
        return parsed


def quality_names(text: str) -> list[str]:
    """`1080p,720p`; whether a video can have them is asked later."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ArgumentTypeError("name the qualities with commas between them, as in 1080p,720p")
    return names


def qualities_of_the_ladder(text: str) -> list[str]:
    try:
        return check_qualities(quality_names(text)) or []
    except InvalidInput as error:
        raise ArgumentTypeError(str(error)) from None


def add_strict(parser: CommandParser) -> None:
    parser.add_argument(
        "--strict", action="store_true", help="one quality that fails fails the job (default: one must succeed)"
    )


def add_split(parser: CommandParser) -> None:
    parser.add_argument(
        "--split", action=BooleanOptionalAction, default=None,
        help="let all workers of the queue encode it at once, chunk by chunk (default: JOBS_VIDEO_SPLIT_AFTER says)",
    )  # fmt: skip


def add_slug(parser: CommandParser) -> None:
    parser.add_argument("slug", metavar="SLUG", help="the video's name in addresses: /videos/SLUG/")
