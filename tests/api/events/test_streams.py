"""What all streams have in common: who may read, signs of life, limits, and that nothing is left of those who go."""

import threading
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from jobs.api.events import asgi, reader
from jobs.api.events.asgi import Streams
from jobs.api.events.hub import hub
from jobs.api.events.reader import End
from jobs.lifecycle.api_tokens import make_token, revoke_token
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.workers import disable, remove, sign_off
from tests.admin.visits import logged_in, staff
from tests.api.calls import error_of
from tests.api.events.listening import PATIENCE, Frame, Site, open_site
from tests.concurrency.threads import wait_until
from tests.factories import claimed, make_job, make_worker

JOBS, WORKERS = "/api/events/jobs", "/api/events/workers"


def test_the_stream_of_workers(site: Site, anna: Client):
    old = make_worker("old")
    sign_off(old.pk)
    stream = site.listen(WORKERS, anna)
    (told,) = stream.next("snapshot")["workers"]
    assert told | {"id": str(old.pk), "name": "old", "status": "offline", "holding": 0, "slots": 1} == told
    new = make_worker("new")
    assert stream.next("worker", lambda worker: worker["id"] == str(new.pk))["status"] in ("active", "idle")
    claimed(new)
    assert stream.next("worker", lambda worker: worker["holding"] == 1)["status"] == "busy"
    disable(new.pk, "by anna")
    assert stream.next("worker", lambda worker: worker["status"] == "disabled")["name"] == "new"
    remove(old.pk, "by anna")
    assert stream.next("worker_gone") == {"id": str(old.pk)}


def test_a_stream_gives_a_sign_of_life_and_says_when_to_come_back(site: Site, anna: Client, settings: LazySettings):
    settings.JOBS_SSE_PING, settings.JOBS_SSE_RECONNECT = 0.1, 2.5
    stream = site.listen(JOBS, anna)
    assert stream._block() == {"retry": "2500"}
    stream.next("snapshot")
    pings = [stream.frame(), stream.frame()]
    assert [ping and (ping.event, ping.data) for ping in pings] == [("ping", {})] * 2
    position = stream.settled()
    assert stream.frame() == Frame("ping", {}, position)


def test_a_stream_ends_after_a_while_so_that_its_reader_is_asked_anew(site: Site, anna: Client, settings: LazySettings):
    settings.JOBS_SSE_MAX_AGE = 0.2
    stream = site.listen(JOBS, anna)
    assert stream.next("end") == {"reason": "old"}
    assert stream.frame() is None
    anna.logout()
    assert site.listen(JOBS, Cookie="sessionid=0").status == 401


def test_a_server_that_stops_ends_its_streams(site: Site, anna: Client):
    streams = [site.listen(address, anna) for address in (JOBS, WORKERS)]
    for stream in streams:
        stream.next("snapshot")
    hub.end_all(End.STOPPING)
    for stream in streams:
        assert stream.next("end") == {"reason": "stopping"}
        assert stream.frame() is None


def test_names_of_headers_may_be_written_in_any_case(transactional_db: None, anna: Client):
    """As Django's own ASGI handler does: a length that stays would end the stream."""

    def loud(application: Any) -> Any:
        async def call(scope: Any, receive: Any, send: Any) -> None:
            async def louder(message: Any) -> None:
                if "headers" in message:
                    message = {**message, "headers": [(name.title(), value) for name, value in message["headers"]]}
                await send(message)

            await application(scope, receive, louder)

        return Streams(call)

    with open_site(wrap=loud) as site:
        stream = site.listen(JOBS, anna)
        assert stream.next("snapshot")
        assert "Content-Type" in stream.headers
        assert "Content-Length" not in stream.headers


def test_only_staff_with_the_permission_may_read(site: Site):
    looker = staff("view_job", name="looker")
    assert site.listen(JOBS).status == 401
    assert site.listen(WORKERS, looker).status == 403
    assert site.listen(JOBS, looker).next("snapshot")["jobs"] == []
    visitor = User.objects.create_user("visitor", password=None, is_superuser=True)
    assert site.listen(JOBS, logged_in(visitor)).status == 403


def test_a_token_will_do_while_it_is_valid(site: Site):
    user = User.objects.create_superuser("robot", password=None)
    token, text = make_token(user, "screen")
    assert site.listen(JOBS, Authorization=f"Bearer {text}").next("snapshot")
    assert site.listen(JOBS, Authorization="Bearer nonsense").status == 401
    revoke_token(token)
    assert site.listen(JOBS, Authorization=f"Bearer {text}").status == 401


def test_what_is_asked_wrongly_is_answered_with_a_sentence(anna: Client):
    for query, word in (
        ("?queue=", "queue"),
        ("?ids=1,x", "ids"),
        ("?ids=" + ",".join(map(str, range(201))), "at most 200"),
        ("?" + "&".join(f"queue=q{number}" for number in range(21)), "at most 20"),
        ("?after=-1", "Last-Event-ID"),
        ("?once=maybe", "once"),
        ("?state=failed", "Unknown parameter 'state'"),
    ):
        assert word in error_of(anna.get(JOBS + query), 422)[1]
    assert "queue" in error_of(anna.get(WORKERS + "?queue=mail"), 422)[1]
    assert error_of(anna.get(f"{JOBS}/4711"), 404)[0] == "not_found"
    assert error_of(anna.get("/api/events/nothing"), 404)[0] == "not_found"
    assert error_of(anna.post(JOBS), 405)[0] == "method_not_allowed"


def test_a_server_without_streams_says_so_and_answers_once(anna: Client):
    job = make_job()
    code, message = error_of(anna.get(JOBS), 501)
    assert code == "no_streams"
    assert "?once=1" in message
    assert anna.head(JOBS)["Content-Type"] == "text/event-stream"
    address = f"{JOBS}/{job.pk}"
    for answer in (anna.get(f"{address}?once=1"), anna.get(address, headers={"Accept": "application/json"})):
        assert [told["id"] for told in answer.json()["jobs"]] == [job.pk]


def test_one_reader_too_many_is_refused_until_another_leaves(site: Site, anna: Client, settings: LazySettings):
    settings.JOBS_SSE_READERS = 2
    first, _ = site.listen(JOBS, anna), site.listen(WORKERS, anna)
    refused = site.listen(JOBS, anna)
    assert (refused.status, refused.headers["retry-after"]) == (503, "3")
    assert b"JOBS_SSE_READERS" in refused.whole()
    first.leave()
    assert site.listen(JOBS, anna).next("snapshot")


def test_nothing_is_left_of_readers_who_go(site: Site, anna: Client):
    site.listen(f"{JOBS}?once=1", anna).whole()  # so that the threads of the site have their connections
    threads, connections = threading.active_count(), connections_to_the_database()
    streams = [site.listen(JOBS, anna) for _ in range(200)]
    for stream in streams:
        stream.next("snapshot")
    assert threading.active_count() <= threads + 2  # the hub, and the other one of the site's two
    assert connections_to_the_database() <= connections + 2
    for stream in streams:
        stream.leave()
    assert hub.number == 0
    assert hub.wait_until_idle(PATIENCE)
    assert threading.active_count() <= threads + 1
    wait_until(lambda: connections_to_the_database() <= connections + 1)


def connections_to_the_database() -> int:
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_a_reader_that_is_too_slow_is_cut_off_and_others_are_not(
    site: Site, anna: Client, monkeypatch: pytest.MonkeyPatch
):
    slow, quick = site.listen(JOBS, anna), site.listen(JOBS, anna)
    slow.next("snapshot"), quick.next("snapshot")
    slow.hold()
    last = [make_job().pk for _ in range(3)][-1]
    quick.job(last)  # the slow one is in the middle of that
    monkeypatch.setattr(reader, "MOST_FRAMES", 5)
    for _ in range(3):
        quick.job([make_job().pk for _ in range(3)][-1])
    slow.release()
    assert slow.next("end") == {"reason": "slow"}
    assert quick.job(make_job().pk)
    assert hub.number == 1


def test_a_reader_that_takes_nothing_at_all_is_given_up(site: Site, anna: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asgi, "SENT_WITHIN", 0.2)
    stream = site.listen(JOBS, anna)
    stream.next("snapshot")
    stream.hold()
    make_job()
    stream.task.result(PATIENCE)
    assert hub.number == 0


@pytest.mark.postgres
def test_a_connection_that_is_lost_is_made_anew_and_nothing_is_missed(
    site: Site, anna: Client, monkeypatch: pytest.MonkeyPatch
):
    stream = site.listen(JOBS, anna)
    stream.next("snapshot")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    job = make_job()
    assert stream.next("outage") == {"message": "The database does not answer."}
    assert stream.next("job")["id"] == job.pk
    assert stream.next("recovered") == {}


def test_a_heartbeat_alone_is_told_to_who_looks_at_workers(site: Site, anna: Client):
    worker = make_worker()
    stream = site.listen(WORKERS, anna)
    before = stream.next("snapshot")["workers"][0]["last_heartbeat"]
    heartbeat(worker.pk)
    assert stream.next("worker")["last_heartbeat"] > before
