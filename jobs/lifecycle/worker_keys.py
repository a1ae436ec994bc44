"""Makes, replaces and revokes the keys of remote workers."""

from datetime import timedelta

from django.db.models import Q

from jobs.bearer import new_secret
from jobs.db import Now, transactional
from jobs.exceptions import InvalidInput
from jobs.models import Worker, WorkerKey
from jobs.states import WorkerType

WORD = "worker"
VALID = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))


@transactional
def make_key(worker: Worker, lifetime: timedelta | None = None) -> tuple[WorkerKey, str]:
    """A new key beside those there are, and its text, which is known to nobody afterwards."""
    if worker.type != WorkerType.REMOTE:
        raise InvalidInput(f"Worker {worker.name} has the database at hand and needs no key; register a remote one.")
    secret = new_secret(WORD)
    expires_at = Now() + lifetime if lifetime is not None else None
    key = WorkerKey.objects.create(worker=worker, prefix=secret.prefix, digest=secret.digest, expires_at=expires_at)
    key.refresh_from_db()
    return key, secret.text


@transactional
def rotate(worker: Worker, overlap: timedelta, lifetime: timedelta | None = None) -> tuple[WorkerKey, str]:
    """A new key, while the others go on for so long and then end."""
    key, text = make_key(worker, lifetime)
    others = WorkerKey.objects.filter(VALID, worker=worker).exclude(pk=key.pk)
    end = Now() + overlap
    others.filter(Q(expires_at=None) | Q(expires_at__gt=end)).update(expires_at=end)
    return key, text


@transactional
def revoke(keys: Q) -> list[str]:
    """They count no more from the next call on. Returns the prefixes of those that were valid until now."""
    prefixes = list(WorkerKey.objects.filter(VALID & keys).order_by("pk").values_list("prefix", flat=True))
    WorkerKey.objects.filter(keys, revoked_at=None).update(revoked_at=Now())
    return prefixes


@transactional
def note_use(key: WorkerKey) -> None:
    WorkerKey.objects.filter(pk=key.pk).update(last_used_at=Now())
