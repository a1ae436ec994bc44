"""docs/state-machine.md tells of exactly the moves that the code allows."""

import re
from pathlib import Path

from django.conf import settings

from jobs.states import TRANSITIONS, ShownState

PAGE = (Path(settings.BASE_DIR) / "docs" / "state-machine.md").read_text()


def test_the_table_of_moves_is_the_one_in_the_code():
    words = "pending|running|completed|failed|cancelled"
    told = set(re.findall(rf"^\| ({words}) \| ({words}) \|", PAGE, re.MULTILINE))
    assert told == {(str(here), str(there)) for here, targets in TRANSITIONS.items() for there in targets}


def test_every_shown_state_is_explained():
    for state in ShownState:
        assert re.search(rf"^\| .*\b{state}\b.* \|", PAGE, re.MULTILINE), state
