"""What the run of both engines says at its end: which faults were shown to be survived."""

from pathlib import Path

import pytest

from tests.engines import every_fault_was_shown, passed
from tests.fault_table import named_by_fault

REPORT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.worker.test_crashes" name="test_well"/>
<testcase classname="tests.worker.test_crashes" name="test_each[1]"/>
<testcase classname="tests.faults.test_redis" name="test_left_out"><skipped message="no Redis"/></testcase>
<testcase classname="tests.test_logs" name="test_red"><failure message="no"/></testcase>
<testcase classname="tests.test_logs" name="test_odd"><error message="no"/></testcase>
</testsuite></testsuites>"""


def test_only_what_passed_has_shown_something(tmp_path: Path):
    report = tmp_path / "report.xml"
    assert passed(report) == set()
    report.write_text(REPORT)
    assert passed(report) == {"worker/test_crashes.py::test_well", "worker/test_crashes.py::test_each"}


@pytest.mark.parametrize(("in_ci", "is_enough"), [("true", False), ("", True)])
def test_a_fault_of_which_a_test_did_not_run_is_named_and_in_ci_a_failure(in_ci, is_enough, monkeypatch, capsys):
    monkeypatch.setenv("CI", in_ci)
    ran = set().union(*named_by_fault().values())
    assert every_fault_was_shown(ran)
    assert capsys.readouterr().out == ""
    left_out = min(named_by_fault()["F32"])
    assert every_fault_was_shown(ran - {left_out}) == is_enough
    assert capsys.readouterr().out == f"F32 of docs/reliability.md was not shown to be survived: {left_out}\n"
