"""One codec for each type that goes over the wire."""

from typing import Any

from jobs.exceptions import ClaimError, ClaimExpired, ClaimLost, JobLocked
from jobs.handlers.base import (
    Answer,
    Child,
    ClaimedJob,
    ClaimRef,
    Orders,
    Outcome,
    PhaseReport,
    QualityReport,
    Report,
    Spawn,
    Wish,
)
from jobs.states import PhaseStatus, QualityStatus, Status, Verdict
from jobs.wire.messages import Beat, Beaten, Look, Looked, Start, Started
from jobs.wire.shapes import (
    FLAG,
    IDENTIFIER,
    NUMBER,
    SAID,
    SECONDS,
    STORED,
    TEXT,
    WHOLE,
    Codec,
    Record,
    WrongShape,
    an_object,
    list_of,
    map_of,
    one_of,
    optional,
)
from jobs.wire.spawn_options import OPTIONS

CLAIM = Record(ClaimRef, job_id=WHOLE, claim_id=IDENTIFIER)
CLAIMS = list_of(CLAIM)

PHASE_REPORT = Record(
    PhaseReport,
    name=TEXT,
    position=WHOLE,
    status=one_of(PhaseStatus),
    progress=WHOLE,
    weight=NUMBER,
    result=SAID,
    error=TEXT,
)
QUALITY_REPORT = Record(
    QualityReport,
    name=TEXT,
    status=optional(one_of(QualityStatus)),
    progress=optional(WHOLE),
    segments_total=optional(WHOLE),
    segments_completed=optional(WHOLE),
    error=optional(TEXT),
    details=optional(map_of(SAID)),
)
REPORT = Record(
    Report,
    claim=CLAIM,
    progress=optional(WHOLE),
    step=optional(TEXT),
    phases=list_of(PHASE_REPORT),
    qualities=list_of(QUALITY_REPORT),
    checkpoint=SAID,  # left out: unchanged; null: none any more
)

CLAIMED_JOB = Record(
    ClaimedJob,
    claim=CLAIM,
    kind=TEXT,
    queue=TEXT,
    payload=map_of(STORED),
    subject=TEXT,
    attempt=WHOLE,
    max_attempts=WHOLE,
    crashes=WHOLE,
    lease=SECONDS,
    max_runtime=optional(SECONDS),
    checkpoint=STORED,
    phase_results=map_of(STORED),
    completed_qualities=list_of(TEXT),
    priority=WHOLE,
    enqueued_at=TEXT,
    trace_context=optional(TEXT),
)

OUTCOME = Record(
    Outcome,
    claim=CLAIM,
    verdict=one_of(Verdict),
    result=SAID,
    error=TEXT,
    traceback=TEXT,
    fatal=FLAG,
    retry_after=optional(NUMBER),
    count=FLAG,
    error_class=TEXT,
    waits_for=optional(list_of(WHOLE)),
)
OUTCOMES = list_of(OUTCOME)

Refusal = ClaimError | JobLocked
REFUSALS: dict[str, type[Refusal]] = {each.code: each for each in (ClaimLost, ClaimExpired, JobLocked)}


def refusal(code: str, job_id: int) -> Refusal:
    """The error that such an answer means."""
    return REFUSALS[code](job_id=job_id)


def encode_answer(answer: Answer) -> dict[str, Any]:
    body = ANSWERED.encode(answer)
    return body if answer.refused is None else {**body, "refused": answer.refused.code}


def decode_answer(value: Any) -> Answer:
    answer, code = ANSWERED.decode(value), an_object(value).get("refused")
    if code is None:
        return answer
    if code not in REFUSALS:
        raise WrongShape(f"one of {', '.join(REFUSALS)}", code, "refused")
    return answer._replace(refused=refusal(code, answer.claim.job_id))


ANSWERED = Record(
    Answer,
    claim=CLAIM,
    status=optional(one_of(Status)),
    repeated=FLAG,
    reason=TEXT,
)
ANSWER: Codec[Answer] = Codec(encode_answer, decode_answer)
ANSWERS = list_of(ANSWER)

ORDERS = Record(Orders, cancel=CLAIMS, lost=CLAIMS, unrenewed=CLAIMS, drain=FLAG, disabled=FLAG)

SPAWN = Record(Spawn, kind=TEXT, payload=STORED, key=optional(TEXT), options=OPTIONS)
WISH = Record(Wish, spawn=list_of(SPAWN))
CHILD = Record(Child, id=WHOLE, key=TEXT, kind=TEXT, status=one_of(Status), progress=WHOLE, result=STORED, error=TEXT)
CHILDREN = list_of(CHILD)

LOOK = Record(
    Look,
    claim_id=IDENTIFIER,
    queues=list_of(TEXT),
    limit=WHOLE,
    isolated_kinds=map_of(WHOLE),
    isolated_limit=optional(WHOLE),
    kinds=list_of(TEXT),
    completed_there=list_of(TEXT),
    wait=NUMBER,
)
LOOKED = Record(Looked, jobs=list_of(CLAIMED_JOB), reason=TEXT, next_due_in=optional(NUMBER))

START = Record(
    Start,
    process=IDENTIFIER,
    hostname=TEXT,
    pid=WHOLE,
    boot_id=TEXT,
    pid_namespace=WHOLE,
    start_ticks=WHOLE,
    version=TEXT,
    queues=list_of(TEXT),
    slots=WHOLE,
    capabilities=map_of(SAID),
)
STARTED = Record(
    Started,
    worker_id=IDENTIFIER,
    name=TEXT,
    server_time=TEXT,
    server_version=TEXT,
    heartbeat_interval=NUMBER,
    longest_wait=NUMBER,
)
BEAT = Record(Beat, claims=CLAIMS, version=TEXT, metadata=optional(map_of(SAID)), lists_all=FLAG)
BEATEN = Record(Beaten, orders=ORDERS, server_time=TEXT, required_version=TEXT)
