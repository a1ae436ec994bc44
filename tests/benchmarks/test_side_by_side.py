"""Jobyard beside other queues: what is made of the samples."""

from benchmarks.side_by_side import findings


def test_a_ratio_to_what_recorded_nothing_is_left_out_and_the_others_stay():
    ours = {"enqueue": [300.0], "commits per job": [0.5], "drain, 2 workers": [9.0]}
    theirs = {"enqueue": [100.0], "commits per job": [0.0]}
    found = findings({"jobyard": ours, "pgqueuer": theirs}, {})
    ratios = {figure.name: figure.spread.median for figure in found.figures if figure.unit == "×"}
    assert ratios == {"enqueue: jobyard : pgqueuer": 3.0}
    assert "commits per job, pgqueuer" in [figure.name for figure in found.figures]
