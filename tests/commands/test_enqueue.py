"""`enqueue`: a job from the command line."""

from datetime import timedelta

import pytest

from jobs.models import Job
from jobs.selectors.clock import database_now
from jobs.states import Status
from tests.commands.calls import refused, run, run_json
from tests.factories import job_in
from tests.manage import manage

pytestmark = pytest.mark.django_db


def only_job() -> Job:
    return Job.objects.get()


def test_it_prints_the_id_of_the_new_job():
    assert run("enqueue", "test.noop") == f"Enqueued job {only_job().pk}.\n"


def test_every_option_reaches_the_job():
    answer = run_json(
        "enqueue", "test.noop", "--payload", '{"video": 7}', "--queue", "media", "--priority=-7", "--subject", "a film",
        "--scope", "library-3", "--dedupe-key", "film-7", "--unique", "ever", "--max-attempts", "5", "--backoff",
        "fixed:3", "--max-runtime", "2h", "--webhook-url", "https://example.org/hook", "--accelerator", "prefer",
    )  # fmt: skip
    job = only_job()
    assert answer == {"job_id": job.pk, "created": True}
    assert (job.payload, job.queue, job.priority, job.subject, job.scope) == (
        {"video": 7}, "media", -7, "a film", "library-3"
    )  # fmt: skip
    assert (job.dedupe_key, job.unique_ever, job.max_attempts, job.backoff) == ("film-7", True, 5, "fixed:3")
    assert (job.max_runtime, job.webhook_url) == (timedelta(hours=2), "https://example.org/hook")
    assert job.accelerator == "prefer"


def test_a_duplicate_is_met_and_named_and_is_no_error():
    run("enqueue", "test.noop", "n=1", "--unique", "active")
    first = only_job().pk
    assert run("enqueue", "test.noop", "n=1", "--unique", "active") == (
        f"Nothing new: job {first} is there already with the same dedupe key.\n"
    )
    assert run_json("enqueue", "test.noop", "n=1", "--unique", "active") == {"job_id": first, "created": False}


def test_force_enqueues_although_a_finished_job_is_unique_for_ever():
    finished = job_in(Status.COMPLETED, dedupe_key="k", unique="ever")
    again = ("enqueue", "test.noop", "--dedupe-key", "k", "--unique", "ever")
    assert run_json(*again) == {"job_id": finished.pk, "created": False}
    assert run_json(*again, "--force")["created"] is True


def test_pairs_are_json_where_they_are_json_and_text_where_not():
    pairs = ["n=5", "ok=true", "list=[1, 2]", "title=May, at last", "empty=", "sum=1+1=2", 'quoted="5"', "nan=NaN"]
    run("enqueue", "test.noop", *pairs)
    assert only_job().payload == {
        "n": 5, "ok": True, "list": [1, 2], "title": "May, at last", "empty": "", "sum": "1+1=2", "quoted": "5",
        "nan": "NaN",
    }  # fmt: skip


def test_pairs_and_options_come_in_any_order():
    run("enqueue", "--queue", "media", "test.noop", "a=1", "--priority", "5", "b=2")
    assert (only_job().payload, only_job().queue, only_job().priority) == ({"a": 1, "b": 2}, "media", 5)


def test_the_payload_comes_from_a_file(tmp_path):
    (tmp_path / "payload.json").write_text('\ufeff{"title": "Zoë"}', encoding="utf-8")
    run("enqueue", "test.noop", "--payload-file", tmp_path / "payload.json")
    assert only_job().payload == {"title": "Zoë"}


@pytest.mark.django_db(transaction=True)
def test_the_payload_comes_from_standard_input():
    done = manage("enqueue", "test.noop", "--allow-unknown", "--payload-file", "-", stdin='{"from": "stdin"}')
    assert (done.returncode, done.stderr) == (0, "")
    assert only_job().payload == {"from": "stdin"}


def test_a_duration_counts_from_the_database_s_now():
    before = database_now()
    run("enqueue", "test.noop", "--run-after", "10m")
    assert timedelta(minutes=10) <= only_job().run_after - before < timedelta(minutes=11)
    assert only_job().hold == "scheduled"


def test_a_time_needs_its_zone():
    run("enqueue", "test.noop", "--run-after", "2031-05-01T12:00:00+02:00")
    assert only_job().run_after.isoformat() == "2031-05-01T10:00:00+00:00"
    refusal = refused("enqueue", "test.noop", "--run-after", "2031-05-01T12:00:00")
    assert refusal.code == 2
    assert "has no time zone: write 2031-05-01T12:00:00Z" in refusal.sentence


def test_an_unknown_kind_is_refused_with_those_that_are_known():
    refusal = refused("enqueue", "test.nop")
    assert refusal.code == 2
    assert "Did you mean 'test.noop'?" in refusal.sentence
    assert "Known kinds: " in refusal.sentence
    assert "test.noop" in refusal.sentence.partition("Known kinds: ")[2]
    assert run_json("enqueue", "test.nop", "--allow-unknown")["created"] is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--payload", "{"], "The payload is not JSON: Expecting property name"),
        (["--payload", '{"x": NaN}'], "The payload is not JSON: there is no NaN in it."),
        (["--payload", "[1]"], "must be a JSON object (a dict with text keys), not list"),
        (["--payload", '{"x": "\\u0000"}'], "contains a NUL character"),
        (["--payload", '{"x": "\\ud800"}'], "contains a lone surrogate"),
        (["--payload", '{"x": 1e400}'], "is inf, which JSON does not have"),
        (["--payload", '{"x": 9223372036854775808}'], "integer of more than 64 bits"),
        (["--payload", '{"x": ' + "9" * 5000 + "}"], "integer of more than 64 bits"),
        (["--payload", "[" * 100_000], "is nested too deeply"),
        (["--payload", '{"x": ' + "[" * 70 + "]" * 70 + "}"], "nested more than 64 levels deep"),
        (["--payload", '{"x": "' + "y" * 1_100_000 + '"}'], "JOBS_MAX_PAYLOAD allows 1048576"),
        (["--payload", "{}", "a=1"], "in one way only"),
        (["--payload-file", "/does/not/exist"], "cannot be read: No such file or directory"),
        (["--payload-file", "/"], "cannot be read: Is a directory"),
        (["--payload-file", "\x00"], "cannot be read: embedded null byte"),
        (["=1"], "'=1' is not KEY=VALUE"),
        (["\x1b[31m"], "is not KEY=VALUE"),
        (["a=1", "a=2"], "The key 'a' is given twice"),
        (["a\x00=1"], "contains a NUL character"),
        (["--queue", "no spaces"], "The queue name 'no spaces' is not valid"),
        (["--queue", ""], "The queue name '' is not valid"),
        (["--priority", "101"], "'101' is not a whole number from -100 to 100"),
        (["--priority", "1.5"], "'1.5' is not a whole number"),
        (["--priority", "9" * 5000], "is not a whole number"),
        (["--subject", "s" * 501], "at most 500 are allowed"),
        (["--subject", "\udcff"], "contains a lone surrogate"),
        (["--scope", "a\x00b"], "contains a NUL character"),
        (["--dedupe-key", ""], "The dedupe key is empty"),
        (["--unique", "sometimes"], "invalid choice: 'sometimes'"),
        (["--run-after", "tomorrow"], "'tomorrow' is neither a time in ISO 8601 nor a duration"),
        (["--run-after=-5m"], "'-5m' is neither"),
        (["--run-after", "9999-12-31T23:59:59-12:00"], "is outside the years 1 to 9999"),
        (["--max-attempts", "0"], "'0' is not a whole number from 1 to 1000"),
        (["--max-attempts=-1"], "'-1' is not a whole number from 1 to 1000"),
        (["--backoff", "sometimes"], "The backoff 'sometimes' is not understood"),
        (["--max-runtime", "0"], "max_runtime is 0.0, but"),
        (["--max-runtime", "nan"], "'nan' is not a duration"),
        (["--webhook-url", "ftp://x"], "must begin with http:// or https://"),
        (["--accelerator", "tpu"], "invalid choice: 'tpu'"),
        (["--priorty", "5"], "unrecognized arguments: --priorty"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_one_sentence(arguments, said):
    refusal = refused("enqueue", "test.noop", *arguments)
    assert said in refusal.sentence
    assert (refusal.code, refusal.printed) == (2, "")
    assert not Job.objects.exists()


def test_a_payload_file_far_too_large_is_not_read_whole(tmp_path, settings):
    settings.JOBS_MAX_PAYLOAD = 100
    (tmp_path / "large").write_bytes(b" " * 1300)
    assert "larger than 1200 bytes" in refused("enqueue", "test.noop", "--payload-file", tmp_path / "large").sentence


def test_a_payload_file_must_be_text(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe{}")
    assert "is not text in UTF-8" in refused("enqueue", "test.noop", "--payload-file", tmp_path / "binary").sentence
