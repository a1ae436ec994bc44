"""What all commands share: help that teaches, `--json`, exit codes, and errors that are one sentence."""

import json
import os
import sys
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter
from django.core.serializers.json import DjangoJSONEncoder
from django.db import Error as DatabaseError
from django.db import connection

from jobs.checks import handlers_left_out
from jobs.db import is_unmigrated
from jobs.exceptions import InvalidInput, JobyardError
from jobs.management.text import listed
from jobs.sanitise import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130


class HelpFormatter(DjangoHelpFormatter, RawDescriptionHelpFormatter):
    """Examples keep their lines."""


class AnyOrderParser(CommandParser):
    """Takes options and ids in any order: argparse alone refuses `retry_jobs 5 --json 6`."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Namespace:  # type: ignore[override]  # typeshed overloads it
        return self.parse_intermixed_args(args, namespace)


class JobyardCommand(BaseCommand):
    """Arguments in, one call, result out. Exit codes: 0 done, 1 failed, 2 wrong use."""

    examples = ""
    as_json = False
    colour: bool | None = None  # None: if the output is a terminal
    json_indent: int | None = 2

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        parser = super().create_parser(
            prog_name,
            subcommand,
            formatter_class=HelpFormatter,
            epilog=f"examples:\n{self.examples}",
            allow_abbrev=False,  # `--all` must not come to mean `--all-failed`
            **options,
        )
        parser.__class__ = AnyOrderParser  # Django makes the parser itself and asks nobody which class
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")

    def execute(self, *args: Any, **options: Any) -> str | None:
        self.as_json = options["json"]
        self.colour = True if options["force_color"] else False if options["no_color"] else None
        try:
            return super().execute(*args, **options)
        except InvalidInput as error:
            raise CommandError(printable(error), returncode=WRONG_USE) from error
        except JobyardError as error:
            raise CommandError(printable(error), returncode=FAILED) from error
        except DatabaseError as error:
            raise CommandError(database_trouble(error), returncode=FAILED) from error
        except KeyboardInterrupt:
            raise CommandError("Interrupted; what was done until then stays done.", returncode=INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read our output has seen enough, as in `list_jobs | head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None

    def check(self, *args: Any, **options: Any) -> None:
        """Most of our commands need no handler, and a worker goes on without those that cannot be imported."""
        with handlers_left_out():
            super().check(*args, **options)

    def answer(self, document: Any, *shown: "str | RenderableType") -> None:
        """Print the result: the document for machines, sentences and tables for people."""
        if self.as_json:
            self.write(json.dumps(document, cls=DjangoJSONEncoder, indent=self.json_indent))
        else:
            self.write(self.drawn(*shown))

    def drawn(self, *shown: "str | RenderableType") -> str:
        """Sentences stay as they are, for a terminal to wrap; the rest is drawn to fit it."""
        from jobs.management.tables import render  # with rich, which a worker that writes a log has no use for

        colour = self.stdout.isatty() if self.colour is None else self.colour
        return "\n".join(each if isinstance(each, str) else render(each, colour=colour) for each in shown)

    def write(self, text: str) -> None:
        encoding = getattr(self.stdout, "encoding", None) or "utf-8"
        self.stdout.write(text.encode(encoding, "replace").decode(encoding))
        self.stdout.flush()


def refuse(sentence: str) -> NoReturn:
    """Wrong use."""
    raise CommandError(sentence, returncode=WRONG_USE)


def complain_about(left_alone: Collection[int], named: Collection[int]) -> None:
    """A job that was named and not dealt with is a failure, also when others were."""
    if left := set(named) & set(left_alone):
        were = "was" if len(left) == 1 else "were"
        several = f"{len(left):,} of the {len(set(named)):,} jobs you named {were} left alone: {listed(left)}."
        sentence = several if len(set(named)) > 1 else f"Job {listed(left)} was left alone."
        raise CommandError(sentence, returncode=FAILED)


def database_trouble(error: Exception) -> str:
    lines = [" ".join(line.split()) for line in str(error).splitlines()]
    text = printable(" ".join(line if line.endswith((".", "?", ":")) else f"{line}." for line in lines if line), 300)
    return f"The database could not do it: {text}{advice_on(error)}"


def advice_on(error: Exception) -> str:
    if is_unmigrated(error):
        return " Run `manage.py migrate` first."
    if "unable to open database file" in str(error):
        return f" It is {printable(connection.settings_dict['NAME'])}: its folder must exist, and be yours to write in."
    return ""
