"""Stored text is shown and never obeyed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.management.text import listed, printable, printable_lines, told


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\r\nb\tc\x00", r"a\r\nb\tc\x00"),
        ("\x9b2J", r"\x9b2J"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\u2028b", r"a\u2028b"),
        ("\udcff", r"\udcff"),
        ("[red]Zoë 映画[/]", "[red]Zoë 映画[/]"),
    ],
)
def test_control_characters_are_shown_escaped_and_others_as_they_are(text, shown):
    assert printable(text) == shown


@given(st.text())
def test_whatever_was_stored_the_line_is_printable(text):
    assert printable(text).isprintable()


@given(st.text(), st.integers(1, 20))
def test_a_long_text_is_cut_before_it_is_escaped(text, limit):
    assert len(printable(text, limit)) <= limit * len(r"\U0010ffff")


def test_the_lines_of_a_traceback_stay_lines():
    assert printable_lines('File "x"\n\traise\x1b[0m\r\n') == 'File "x"\n    raise\\x1b[0m'


def test_many_ids_are_cut_to_a_few():
    assert listed(range(1, 13)) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more"
    assert told("Cleared", [2, 1]) == "Cleared: 2 jobs (1, 2)."
    assert told("Cleared", []) == "Cleared: no job."
