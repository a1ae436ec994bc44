"""The words both sides use: where the worker API is, its headers, and the codes of its errors."""

from enum import StrEnum

ADDRESS = "api/worker/"  # below the site's own
KEY_HEADER = "X-Worker-API-Key"
ADMIN_SECRET_HEADER = "X-Admin-Secret"  # noqa: S105 - the name of a header
PROCESS_HEADER = "X-Worker-Process"  # which process of the worker calls: made anew by each that starts
CLAIM_HEADER = "X-Claim-Id"  # for calls whose body is a file
SHA256_HEADER = "X-Content-SHA256"
SOMEWHERE = (
    ""  # instead of a queue's name: a job is due and not promoted yet; who claims does that, and finds out where
)
OLDEST_SERVER = "0.1"  # that a worker of this version can work for


class Code(StrEnum):
    """What an error is called in its body, `{"error": {"code": …, "message": …}}`."""

    BAD_KEY = "bad_key"  # 401: missing or unknown
    KEY_REVOKED = "key_revoked"  # 401: of one that was right
    KEY_EXPIRED = "key_expired"  # 401
    DISABLED = "disabled"  # 403: an operator's word
    NOT_FOUND = "not_found"  # 404: no such job
    CLAIM_LOST = "claim_lost"  # 409
    CLAIM_EXPIRED = "claim_expired"  # 409: a heartbeat may still renew it
    IN_USE = "in_use"  # 409: the key is used by a worker that lives elsewhere
    REPLACED = "replaced"  # 409: another process has taken over
    NOT_STARTED = "not_started"  # 409: the worker is known, and this process is not: it calls `start` again
    TOO_LARGE = "too_large"  # 413
    INVALID = "invalid"  # 422
    TOO_MANY = "too_many"  # 429
    BUSY = "busy"  # 503
    JOB_LOCKED = "job_locked"  # 503: somebody keeps its row locked; other jobs are answered
