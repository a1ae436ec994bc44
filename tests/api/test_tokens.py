"""Tokens: who has one acts as its user, only a hash of it is stored, and it ends when it should."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.bearer import digest_of, is_secret_of, new_secret, prefix_of
from jobs.exceptions import InvalidInput
from jobs.lifecycle.api_tokens import make_token, revoke_token
from jobs.models import ApiToken, JobEvent
from tests.api.calls import QUEUE, error_of, member, post_json, with_token
from tests.commands.calls import refused, run, run_json
from tests.factories import make_job, shift

pytestmark = pytest.mark.django_db
DEPTH = f"{QUEUE}/depth"


def bearing(text: str) -> Any:
    return Client().get(DEPTH, headers={"Authorization": text})


@pytest.fixture
def anna() -> User:
    return User.objects.create_superuser("anna", password=None)


def test_a_secret_has_256_random_bits_and_is_known_by_its_hash_alone():
    first, second = new_secret("jobyard"), new_secret("jobyard")
    assert first.text != second.text
    assert len(first.text) == len("jobyard_12345678_") + 43  # 43 letters of 6 bits
    assert (prefix_of(first.text), first.digest) == (first.prefix, digest_of(first.text))
    assert is_secret_of(first.digest, first.text)
    assert not is_secret_of(first.digest, second.text)
    for wrong in ("", "x", first.text + "x", first.text[:-1], first.text.replace(first.prefix, "zzzzzzzz"), "\x00"):
        assert prefix_of(wrong) is None


def test_no_row_holds_the_text_of_a_token(anna: User):
    token, text = make_token(anna, "backups")
    stored = ApiToken.objects.filter(pk=token.pk).values().get()
    secret = text.removeprefix(f"jobyard_{token.prefix}_")
    assert not [name for name, value in stored.items() if secret in str(value)]


def test_who_has_a_token_acts_as_its_user_and_needs_no_csrf_token(anna: User):
    job = make_job()
    assert post_json(with_token(anna), f"{QUEUE}/jobs/{job.pk}/cancel").status_code == 200
    assert JobEvent.objects.filter(job_id=job.pk).latest("id").reason == "by anna"


def test_a_token_has_the_permissions_of_its_user_as_they_are_now(anna: User):
    program = with_token(anna)
    assert program.get(DEPTH).status_code == 200
    User.objects.update(is_superuser=False)
    assert error_of(program.get(DEPTH), 403) == ("forbidden", "This needs the permission jobs.view_queue.")
    User.objects.update(is_superuser=True, is_staff=False)
    assert error_of(program.get(DEPTH), 403)[1] == "This is for staff, and anna is not marked as staff."
    User.objects.update(is_staff=True, is_active=False)
    assert error_of(program.get(DEPTH), 401)[0] == "user_inactive"
    anna.delete()
    assert error_of(program.get(DEPTH), 401)[0] == "token_unknown"


def test_a_token_ends_when_it_is_revoked_or_expires(anna: User):
    token, text = make_token(anna, "short", timedelta(hours=1))
    assert bearing(f"bearer {text}").status_code == 200
    shift(ApiToken, 3601)
    answer = bearing(f"Bearer {text}")
    assert error_of(answer, 401)[0] == "token_expired"
    assert 'error="invalid_token"' in answer["WWW-Authenticate"]
    assert revoke_token(token)
    assert not revoke_token(token)
    assert error_of(bearing(f"Bearer {text}"), 401)[0] == "token_revoked"


def test_a_wrong_token_is_refused_also_if_the_session_is_good(anna: User):
    _, text = make_token(anna, "good")
    wrong = text[:-2] + ("AA" if not text.endswith("AA") else "BB")  # the same prefix: the secret decides
    client = Client()
    client.force_login(anna)
    for shown in (wrong, "", "nonsense", "jobyard_00000000_" + "a" * 43, "\N{SNOWMAN}" * 60, "x" * 10_000):
        assert error_of(client.get(DEPTH, headers={"Authorization": f"Bearer {shown}"}), 401)[0] == "token_unknown"


def test_a_password_for_a_proxy_is_no_token(anna: User):
    client = Client()
    client.force_login(anna)
    assert client.get(DEPTH, headers={"Authorization": "Basic YTpi"}).status_code == 200
    assert error_of(bearing("Basic YTpi"), 401)[0] == "not_authenticated"


def test_two_tokens_with_one_prefix_are_told_apart_by_their_secret(anna: User):
    bob = member("view_queue", name="bob")
    tokens = [make_token(anna, "a"), make_token(bob, "b")]
    ApiToken.objects.update(prefix=tokens[0][0].prefix)
    text = tokens[1][1].replace(tokens[1][0].prefix, tokens[0][0].prefix)
    ApiToken.objects.filter(pk=tokens[1][0].pk).update(digest=digest_of(text))
    assert [bearing(f"Bearer {shown}").status_code for shown in (tokens[0][1], text)] == [200, 200]
    revoke_token(tokens[1][0])
    assert [bearing(f"Bearer {shown}").status_code for shown in (tokens[0][1], text)] == [200, 401]


def test_the_use_of_a_token_is_noted_once_a_minute_and_not_each_time(anna: User):
    program = with_token(anna)
    program.get(DEPTH)
    first = ApiToken.objects.get().last_used_at
    assert first
    with CaptureQueriesContext(connection) as asked:
        program.get(DEPTH)
    assert not [query for query in asked.captured_queries if query["sql"].startswith("UPDATE")]
    shift(ApiToken, 61)
    program.get(DEPTH)
    last = ApiToken.objects.get().last_used_at
    assert last
    assert last >= first


@pytest.mark.parametrize(
    ("name", "problem"), [("", "Give the token a name"), ("n" * 101, "101 characters"), ("\x00", "NUL")]
)
def test_a_name_that_no_token_can_have_is_refused(anna: User, name: str, problem: str):
    with pytest.raises(InvalidInput, match=problem):
        make_token(anna, name)


# Commands


def test_a_token_is_made_listed_and_revoked_by_commands(anna: User):
    told = run("make_api_token", "anna", "--name", "backups", "--expires-in", "90d")
    text = told.split()[-1]
    assert "It is shown only now" in told
    assert bearing(f"Bearer {text}").status_code == 200
    listed = run("list_api_tokens")
    assert "backups" in listed
    assert "anna" in listed
    assert text not in listed + str(run_json("list_api_tokens"))
    assert run("revoke_api_token", "backups").startswith("Token backups")
    assert bearing(f"Bearer {text}").status_code == 401
    assert run_json("list_api_tokens") == {"tokens": []}
    assert [token["revoked_at"] is None for token in run_json("list_api_tokens", "--all")["tokens"]] == [False]
    again = run_json("make_api_token", "anna", "--name", "backups")
    assert run_json("revoke_api_token", again["prefix"]) == {
        "prefix": again["prefix"],
        "name": "backups",
        "changed": True,
    }
    assert run_json("revoke_api_token", again["prefix"])["changed"] is False


def test_the_commands_refuse_what_makes_no_sense(anna: User):
    assert refused("make_api_token", "bob", "--name", "x").sentence.startswith("There is no user 'bob'")
    assert refused("make_api_token", "\x00", "--name", "x").code == 2
    assert refused("make_api_token", "anna", "--name", " ").code == 2
    run("make_api_token", "anna", "--name", "x")
    assert "has a token named 'x'" in refused("make_api_token", "anna", "--name", "x").sentence
    assert refused("revoke_api_token", "nothing").sentence.startswith("There is no token 'nothing'")
    make_token(member(name="bob"), "x")
    assert refused("revoke_api_token", "x").sentence.startswith("2 tokens are called 'x'; name one by its prefix")
