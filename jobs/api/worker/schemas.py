"""What workers send and are answered, for those who read the document; `jobs.wire` says what it means."""

from typing import Annotated, Any

from ninja import Field, Schema
from pydantic import StrictBool, StrictInt, StrictStr

from jobs.api.bounds import MOST_IDS, MOST_NAMES, Named
from jobs.states import PhaseStatus, QualityStatus, Status, Verdict
from jobs.wire.messages import MAX_CLAIM

MOST_HELD = 20 * MAX_CLAIM  # claims: very short jobs are held in batches, for each slot
MOST_PARTS = 1000  # phases or qualities of one job
Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]


class NewProcess(Schema):
    """Who begins to work for the worker whose key is shown."""

    process: Uuid = Field(description="Made by each process anew; later calls carry it in the header X-Worker-Process.")
    hostname: StrictStr = Field("", description="For people.")
    pid: StrictInt = 0
    boot_id: StrictStr = Field("", description="Of the machine: who starts again on the same one takes over at once.")
    pid_namespace: StrictInt = 0
    start_ticks: StrictInt = 0
    version: StrictStr = Field("", description="Of Jobyard.")
    queues: list[StrictStr] = Field(
        [], fail_fast=True, max_length=MOST_NAMES, description="What it serves; empty: all."
    )
    slots: StrictInt = Field(1, description="How many jobs it runs at once.")
    capabilities: dict[str, Any] = Field({}, description="At most 10 KB as JSON; `gpu` and `max_size` mean something.")


class Started(Schema):
    worker_id: Uuid
    name: str
    server_time: str
    server_version: str
    heartbeat_interval: float = Field(description="Seconds.")
    longest_wait: float = Field(description="Seconds that a claim may wait for a job.")


class ClaimName(Schema):
    job_id: StrictInt
    claim_id: Uuid


class PhaseTold(Schema):
    name: StrictStr
    position: StrictInt
    status: PhaseStatus
    progress: StrictInt = 0
    weight: float = 1
    result: Any = Field(None, description="What later phases, and later attempts, are given.")
    error: StrictStr = ""


class QualityTold(Schema):
    """What is left out, or null, is unchanged."""

    name: StrictStr
    status: QualityStatus | None = None
    progress: StrictInt | None = None
    segments_total: StrictInt | None = None
    segments_completed: StrictInt | None = None
    error: StrictStr | None = None
    details: dict[str, Any] | None = None


class Told(Schema):
    """How far a job is. What is left out is unchanged; so is what is null, but for the checkpoint."""

    progress: StrictInt | None = Field(None, description="Percent.")
    step: StrictStr | None = Field(None, description="What it is doing, for people.")
    phases: list[PhaseTold] = Field([], fail_fast=True, max_length=MOST_PARTS)
    qualities: list[QualityTold] = Field([], fail_fast=True, max_length=MOST_PARTS)
    checkpoint: Any = Field(
        None, description="Where the next attempt goes on; null clears it: from the beginning; left out: as it was."
    )


class ReportOf(Told):
    claim: ClaimName


class OneClaim(Schema):
    """The claim is named here, or in the header X-Claim-Id."""

    claim_id: Uuid | None = None
    claim: ClaimName | None = Field(None, description="The same, with the id of the job.")


class Progress(Told, OneClaim):
    pass


class Checkpoint(OneClaim):
    checkpoint: Any = Field(description="Where the next attempt goes on; null: from the beginning.")


class Completion(OneClaim):
    result: Any = None


class Failure(OneClaim):
    error: StrictStr
    traceback: StrictStr = ""
    fatal: StrictBool = Field(False, description="Do not try it again.")
    retry_after: float | None = Field(None, description="Seconds until the next attempt; null: as the kind says.")
    count: StrictBool = Field(True, description="False: the attempt is not counted.")
    error_class: StrictStr = Field("", description="The import path of what was raised.")


class Release(OneClaim):
    reason: StrictStr = ""


class Beat(Schema):
    """Claims that are held and not listed are given to others after two beats. What else is left out stays as it is."""

    claims: list[ClaimName] = Field(
        [], fail_fast=True, max_length=MOST_HELD, description="All that the worker holds: their leases are renewed."
    )
    lists_all: StrictBool = Field(
        True, description="False while it awaits the answer to a claim: then no beat counts against what is not listed."
    )
    version: StrictStr = ""
    metadata: dict[str, Any] | None = Field(None, description="What people are shown; at most 10 KB as JSON.")
    capabilities: dict[str, Any] | None = Field(None, description="At most 10 KB as JSON.")
    reports: list[ReportOf] = Field(
        [], fail_fast=True, max_length=MAX_CLAIM, description="How far jobs are, as `progress` tells it."
    )


class Farewell(Schema):
    metadata: dict[str, Any] | None = Field(None, description="What people are shown; at most 10 KB as JSON.")


class Orders(Schema):
    """What is left out is empty or false."""

    cancel: list[ClaimName] = Field([], description="Stop these, and hand them in as cancelled.")
    lost: list[ClaimName] = Field([], description="Stop these, and publish nothing: they are not yours any more.")
    unrenewed: list[ClaimName] = Field(
        [], description="Still yours, but not renewed: count their lease from an earlier beat, and beat again soon."
    )
    drain: bool = Field(False, description="Finish what runs, claim nothing more, exit.")
    disabled: bool = Field(False, description="Stop what runs and hand it back; claim nothing until enabled.")


class RefusedReport(Schema):
    claim: ClaimName
    code: str = Field(description="`invalid`; or `claim_expired`, `job_locked`: send it again after another heartbeat.")
    message: str


class Beaten(Schema):
    orders: Orders
    refused: list[RefusedReport] = Field([], description="Reports that were not written; their jobs go on.")
    server_time: str = ""
    required_version: str = Field("", description="The lowest that is given jobs; left out: any.")


class Look(Schema):
    claim_id: Uuid = Field(
        description="Made anew for each claim; repeated, it brings what it still holds, and no more."
    )
    queues: list[StrictStr] = Field(
        [], fail_fast=True, max_length=MOST_NAMES, description="In the order they are served; empty: all."
    )
    limit: StrictInt = Field(1, description=f"How many jobs at most: 1 to {MAX_CLAIM}.")
    kinds: list[StrictStr] = Field(
        [],
        fail_fast=True,
        max_length=MOST_NAMES,
        description="What it can run; empty: whatever this server's version has.",
    )
    completed_there: list[StrictStr] = Field(
        [],
        fail_fast=True,
        max_length=MOST_NAMES,
        description="Those whose completion has more to it on the server: it gives out none that it cannot complete.",
    )
    isolated_kinds: Named[StrictInt] = Field({}, description="Those that must begin at once, with the slots they take.")
    isolated_limit: StrictInt | None = Field(None, description="How many slots such jobs may take.")
    wait: float = Field(0, description="Seconds to wait for a job where there is none, up to longest_wait.")


class ClaimedJob(Schema):
    """What is left out is empty, null or 0."""

    claim: ClaimName
    kind: str
    queue: str
    payload: dict[str, Any]
    subject: str
    attempt: int
    max_attempts: int
    crashes: int
    lease: float = Field(description="Seconds; renewed by each heartbeat and each report.")
    max_runtime: float | None
    checkpoint: Any = Field(None, description="What an earlier attempt left.")
    phase_results: dict[str, Any] = {}
    completed_qualities: list[str] = []
    priority: int = 0
    enqueued_at: str = ""
    trace_context: str | None = None


class Looked(Schema):
    jobs: list[ClaimedJob] = []
    reason: str = Field("", description="Why there are none.")
    next_due_in: float | None = Field(None, description="Seconds until a scheduled job is due.")
    can_wait: bool = Field(True, description="False: this server cannot let a claim wait; ask again after a while.")


class Ear(Schema):
    queues: list[StrictStr] = Field(
        [], fail_fast=True, max_length=MOST_NAMES, description="Those that it is about; empty: all."
    )
    wait: float = Field(0, description="Seconds to wait where there is no work, up to longest_wait.")


class Heard(Schema):
    queues: list[str] = Field([], description="Where there is work; one may be taken by others before you claim.")


class OutcomeTold(Schema):
    claim: ClaimName
    verdict: Verdict
    result: Any = None
    error: StrictStr = ""
    traceback: StrictStr = ""
    fatal: StrictBool = False
    retry_after: float | None = None
    count: StrictBool = True
    error_class: StrictStr = ""
    waits_for: list[StrictInt] | None = Field(None, fail_fast=True, max_length=MOST_IDS)


class Outcomes(Schema):
    outcomes: list[OutcomeTold] = Field(fail_fast=True, max_length=MAX_CLAIM)


class Answer(Schema):
    claim: ClaimName
    status: Status | None = Field(None, description="What the job became.")
    repeated: bool = Field(False, description="It had been told before, and nothing changed.")
    refused: str | None = Field(None, description="`claim_lost` or `claim_expired`: nothing was written.")
    reason: str = Field(
        "",
        description="Why its attempt failed, and when the next one is due; without a status, why it was not written.",
    )


class Answers(Schema):
    answers: list[Answer]


class SpawnTold(Schema):
    kind: StrictStr = Field(description="One that the job's kind names with `spawns`.")
    payload: Any = None
    key: StrictStr | None = Field(None, description="The same key is the same job, in later attempts too.")
    options: dict[str, Any] = Field({}, description="Those of `enqueue`, but scope, webhook_url and allow_unknown.")


class Wish(OneClaim):
    spawn: list[SpawnTold] = Field([], fail_fast=True, max_length=MOST_IDS)


class Child(Schema):
    id: int
    key: str
    kind: str
    status: Status
    progress: int = 0
    result: Any = None
    error: str = ""


class Children(Schema):
    children: list[Child] = Field(description="All that the job has spawned so far.")


class JobIds(Schema):
    jobs: list[StrictInt] = Field(fail_fast=True, max_length=MOST_IDS)


class Nothing(Schema):
    """An empty object."""
