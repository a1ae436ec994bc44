"""`manage.py set_limit`: how many jobs of a queue, kind, scope or key may run, how often and when."""

from typing import Any

from django.core.management.base import CommandParser

from jobs.exceptions import UnknownKind
from jobs.handlers.registry import registry
from jobs.lifecycle.set_limit import Rules, lift_limit, parse_rate, set_limit, told
from jobs.management.arguments import whole_number
from jobs.management.base import JobyardCommand, refuse
from jobs.management.limit_target import add_targets, target_of
from jobs.sanitise import printable
from jobs.selectors.limits import state_of


class Command(JobyardCommand):
    help = """Limit the jobs of a queue, a kind, a scope or a key: at most so many run at once, at most so many
start per period, only at some hours. It replaces what was set before. Jobs without room wait, and
hold up nobody behind them. What runs already goes on."""
    examples = """  manage.py set_limit --queue media --running 1
  manage.py set_limit --key 'customer-*' --running 4
  manage.py set_limit --kind mail.send --rate 100/m
  manage.py set_limit --queue night --window 22:00-06:00 --time-zone Europe/Berlin
  manage.py set_limit --queue media --lift"""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_targets(parser, "queue", "kind", "scope", "key")
        parser.add_argument("--running", type=whole_number(1, 1_000_000), metavar="N", help="at most so many at once")
        parser.add_argument("--rate", metavar="N/PERIOD", help="at most so many starts, as in 100/m, 5/10s or 1000/d")
        parser.add_argument("--window", default="", metavar="HH:MM-HH:MM", help="only at these hours")
        parser.add_argument("--time-zone", default="", metavar="ZONE", help="of the window (default: TIME_ZONE)")
        parser.add_argument("--lift", action="store_true", help="remove the limit")
        parser.add_argument("--reason", default="", metavar="TEXT", help="a word for those who wonder")

    def handle(self, *args: Any, **options: Any) -> None:
        target, name = target_of(options, "--queue")
        says = any(options[option] for option in ("running", "rate", "window", "time_zone"))
        if options["lift"]:
            if says:
                refuse("--lift removes the limit: leave the other options out.")
            lift_limit(target, name, options["reason"])
            self.answer(
                {"target": target, "name": name, "lifted": True}, f"The limit of {target} {printable(name)} is lifted."
            )
            return
        if not says:
            refuse("Say what it allows: --running, --rate or --window; or --lift removes it.")
        if target == "kind":
            self.doubt(name)
        jobs, seconds = parse_rate(options["rate"]) if options["rate"] is not None else (None, None)
        rules = Rules(options["running"], jobs, seconds, options["window"], options["time_zone"])
        state = state_of(set_limit(target, name, rules, options["reason"]))
        sentence = f"Limit of {target} {printable(name)}: {told(state.limit)}. Now {state.running:,} running."
        self.answer(state.as_dict(), sentence)

    def doubt(self, kind: str) -> None:
        """A kind may be another machine's, or of a release to come: a word, and no refusal."""
        try:
            registry.get(kind)
        except UnknownKind as error:
            self.stderr.write(f"{printable(error)} The limit is for jobs that have this very name.")
