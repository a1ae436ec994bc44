"""What a command about limits and pauses is told: a queue, a kind, a scope or a key."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.management.base import refuse

HELP = {
    "queue": "all jobs of this queue",
    "kind": "all jobs of this kind",
    "scope": "all jobs of this scope: a library or tenant",
    "key": "all jobs with this limit key; with a * at its end, each such key on its own",
}


def add_targets(parser: CommandParser, *targets: str) -> None:
    for target in targets:
        parser.add_argument(f"--{target}", metavar="NAME", help=HELP[target])


def target_of(options: dict[str, Any], queue: str = "a queue") -> tuple[str, str]:
    """The one that was given; `queue` says how the command takes one."""
    given = [(target, options[target]) for target in HELP if options.get(target) is not None]
    if len(given) != 1:
        names = [queue if target == "queue" else f"--{target}" for target in HELP if target in options]
        refuse(f"Name one: {', '.join(names[:-1])} or {names[-1]}.")
    return given[0]
