"""Mutations of the statement by which most jobs end: whose claim is over, or to whose end there is more, is left."""

from tests.mutants.mutant import POSTGRES, Mutant, lifecycle

COMPLETE, ALIKE = "jobs/lifecycle/complete.py", lifecycle("complete")
HELD, BY_ID = 'held_by(GivenList("ids"), GivenList("claims")).filter(', 'with_ids(GivenList("ids")).filter('
HOOKED = '        ~Q(Among("kind", GivenList("hooked"))),\n'

MUTANTS = [
    Mutant("complete: whoever holds it", COMPLETE, HELD, BY_ID, ALIKE, POSTGRES),
    Mutant("complete: what has a hook, too", COMPLETE, HOOKED, "", ALIKE, POSTGRES),
    Mutant("complete: what is limited, too", COMPLETE, "        ~Q(is_limited()),\n", "", ALIKE, POSTGRES),
    Mutant("complete: what is awaited, too", COMPLETE, "        awaited=False,\n", "", ALIKE, POSTGRES),
    Mutant("complete: what has a webhook, too", COMPLETE, '        webhook_url="",\n', "", ALIKE, POSTGRES),
    Mutant(
        "complete: what is not charged yet, too", COMPLETE, "        started_at__isnull=False,\n", "", ALIKE, POSTGRES
    ),
]
