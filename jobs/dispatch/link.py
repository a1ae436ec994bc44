"""The link to Redis: its connections, its circuit breaker, and words about it that hold no secret."""

import logging
import os
import threading
from collections.abc import Callable
from importlib.util import find_spec
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from jobs.conf import conf
from jobs.dispatch.breaker import Breaker
from jobs.exceptions import JobyardError
from jobs.sanitise import redact

logger = logging.getLogger("jobs.dispatch")
R = TypeVar("R")
BY_REDIS = ("redis", "hybrid")
TIMEOUT = 1.0  # seconds: whoever enqueues waits for Redis no longer, and after three times not at all
NOT_INSTALLED = "the package redis is not installed (pip install 'jobyard[redis]')"
NOT_SET = "JOBS_REDIS_URL is empty"
NOT_READABLE = "JOBS_REDIS_URL cannot be read; it looks like redis://:password@host:6379/0"
UNREADABLE_FOR = 60.0  # seconds, until somebody may have put it right


class RedisAway(Exception):
    """Redis does not answer; `retry_in` seconds from now it may be asked again."""

    def __init__(self, reason: str, retry_in: float) -> None:
        super().__init__(reason)
        self.retry_in = retry_in


class RedisRequired(JobyardError):
    """JOBS_DISPATCH is redis, but {reason}. Put that right, or set JOBS_DISPATCH=hybrid, which polls meanwhile."""


class Link:
    def __init__(self, url: str) -> None:
        self.url, self.breaker = url, Breaker()
        try:
            self.client = self.connect(pool_size=max(1, conf.REDIS_POOL_SIZE))
        except ValueError:  # whose text may quote the address, and with it the password
            raise RedisAway(NOT_READABLE, UNREADABLE_FOR) from None

    def connect(self, *, pool_size: int, patience: float = TIMEOUT) -> Any:
        """A client with connections of its own, opened when they are first used."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        pool = redis.BlockingConnectionPool.from_url(
            self.url,
            max_connections=pool_size,
            timeout=TIMEOUT,
            socket_timeout=patience,
            socket_connect_timeout=TIMEOUT,
            retry=Retry(NoBackoff(), 1),  # a connection that lay idle while the server was started anew
            decode_responses=True,
            protocol=2,
        )
        return redis.Redis(connection_pool=pool)

    def call(self, what: Callable[[Any], R], client: Any = None) -> R:
        """Ask Redis, unless it has just failed again and again."""
        from redis import RedisError

        wait = self.breaker.wait(monotonic())
        if wait:
            raise RedisAway("it failed a moment ago", wait)
        try:
            answer = what(client or self.client)
        except (RedisError, OSError) as error:
            raise self.note_failure(error) from None  # the cause may hold the address, and with it the password
        if self.breaker.succeeded():
            logger.info("Redis answers again")
        return answer

    def note_failure(self, error: Exception) -> RedisAway:
        reason, pause = self.told(error), self.breaker.failed(monotonic())
        if pause:
            logger.warning("Redis does not answer, workers poll for %.0f s error=%r", pause, reason)
        else:
            logger.warning("Redis does not answer error=%r", reason)
        return RedisAway(reason, pause or TIMEOUT)

    def told(self, error: Exception) -> str:
        """What went wrong, without what the address holds of secrets."""
        text = redact(str(error).replace(self.url, "JOBS_REDIS_URL") or type(error).__name__)
        for secret in secrets_of(self.url):
            text = text.replace(secret, "[password]")
        return text

    def close(self) -> None:
        self.client.connection_pool.disconnect()


def secrets_of(url: str) -> set[str]:
    password = urlsplit(url).password
    return {password, unquote(password)} if password else set()


_links: dict[str, Link] = {}
_lock = threading.Lock()


def is_on() -> bool:
    return conf.DISPATCH in BY_REDIS and not what_is_missing()


def what_is_missing() -> str:
    """Why there can be no link at all; empty if there can."""
    if not conf.REDIS_URL:
        return NOT_SET
    return "" if find_spec("redis") else NOT_INSTALLED


def link() -> Link:
    """This process's own."""
    url = conf.REDIS_URL
    found = _links.get(url)
    if found is None:
        with _lock:
            found = _links.setdefault(url, Link(url))
    return found


def forget() -> None:
    """Close everything; the next call begins anew."""
    for old in list(_links.values()):
        old.close()
    _links.clear()


def begin_anew() -> None:
    """In a process that was just forked: connections and locks are its parent's."""
    global _lock
    _lock = threading.Lock()
    _links.clear()


os.register_at_fork(after_in_child=begin_anew)


def answers() -> bool:
    try:
        return is_on() and bool(link().call(lambda client: client.ping()))
    except RedisAway:
        return False


def check_at_start() -> None:
    """Before a worker starts: `redis` refuses to without Redis, `hybrid` says so and goes on."""
    if conf.DISPATCH not in BY_REDIS:
        return
    reason = what_is_missing() or why_unreachable()
    if reason and conf.DISPATCH == "redis":
        raise RedisRequired(reason=reason)
    if reason:
        logger.warning("JOBS_DISPATCH is hybrid, but %s: this worker polls until Redis answers", reason)


def why_unreachable() -> str:
    try:
        link().call(lambda client: client.ping())
    except RedisAway as away:
        return str(away) if str(away) == NOT_READABLE else f"Redis does not answer: {away}"
    finally:
        forget()  # what is open here must not be shared with children
    return ""
