"""Tables fit the terminal, and what is in them stays text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from jobs.management.tables import Cell, Column, bar, facts, render, state, table
from jobs.management.widths import LEAST_LEFT, Wish, fit

COLUMNS = [Column("JOB", right=True), Column("STATE"), Column("SUBJECT", cut=True), Column("ERROR", cut=True)]
WISHES = st.lists(st.builds(Wish, st.integers(0, 60), st.integers(1, 20), st.booleans()), min_size=1, max_size=10)


@given(WISHES, st.integers(1, 200))
def test_the_widths_never_exceed_the_room(wishes, room):
    widths = fit(wishes, room, gap=2)
    assert sum(widths) + 2 * (len(widths) - 1) <= room
    assert all(width >= 1 for width in widths)


@given(WISHES, st.integers(1, 200))
def test_numbers_and_states_are_whole_and_texts_keep_a_beginning(wishes, room):
    widths = fit(wishes, room, gap=2)
    for wish, width in zip(wishes, widths, strict=False):
        if len(widths) > 1:
            assert width >= (min(LEAST_LEFT, wish.natural) if wish.cut else wish.cells)


@given(WISHES)
def test_where_there_is_room_everything_is_as_wide_as_it_wants(wishes):
    assert fit(wishes, 10_000, gap=2) == [wish.natural for wish in wishes]


@given(text=st.text(max_size=200), columns=st.integers(1, 200))
def test_no_line_is_wider_than_the_terminal_whatever_the_rows_hold(text, columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        drawn = render(
            table(COLUMNS, [[123, state("claimed"), text, text], [4, state("failed"), "x", ""]]), colour=False
        )
    assert all(cell_len(line) <= max(40, columns) for line in drawn.split("\n"))


def test_without_a_terminal_a_table_has_80_columns_and_no_colour(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    drawn = render(table(COLUMNS, [[1, state("failed"), "s" * 300, ""]]), colour=False)
    assert drawn == "JOB  STATE   SUBJECT\n  1  failed  " + "s" * 66 + "…"


def test_markup_of_users_is_not_obeyed():
    drawn = render(table(COLUMNS, [[1, state("failed"), "[red]x[/red] :smile: [link=http://x]y", ""]]), colour=True)
    assert "[red]x[/red] :smile: [link=http://x]y" in drawn


def test_colour_is_for_terminals_and_not_with_no_color(monkeypatch):
    rows: list[list[Cell]] = [[1, state("failed"), "x", ""]]
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31mfailed" in render(table(COLUMNS, rows), colour=True)
    assert "\x1b" not in render(table(COLUMNS, rows), colour=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in render(table(COLUMNS, rows), colour=True)


def test_a_column_that_is_empty_everywhere_is_left_out():
    assert "ERROR" not in render(table(COLUMNS, [[1, state("failed"), "x", ""]]), colour=False)
    assert "ERROR" in render(table(COLUMNS, [[1, state("failed"), "x", "broken"]]), colour=False)


def test_facts_without_a_value_are_left_out():
    assert render(facts([("queue", "media"), ("scope", ""), ("priority", 0), ("result", None)]), colour=False) == (
        "  queue     media\n  priority  0"
    )


@pytest.mark.parametrize(("percent", "shown"), [(0, "░░░░   0 %"), (50, "██░░  50 %"), (100, "████ 100 %")])
def test_a_bar_is_as_full_as_the_percentage(percent, shown):
    assert bar(percent, width=4).plain == shown
