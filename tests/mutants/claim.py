"""Mutations of claim: what is ready, who may take it, and that it is taken once."""

from tests.mutants.mutant import POSTGRES, Edit, Mutant, lifecycle, races

JOB, CLAIM, LINE = "jobs/models/job.py", "jobs/lifecycle/claim.py", "jobs/lifecycle/line.py"
TAKING, MARKS = "jobs/lifecycle/candidates.py", "jobs/lifecycle/plain_claim.py"
CLAIMS = lifecycle("claim", "claim_again", "queues", "start", "guards")
GPU = lifecycle("claim_gpu")
READY = "~Exists(paused), ~Exists(closed(queue)), queue=queue, status=Status.PENDING, hold=Hold.NONE"
ORDER = ').order_by(F("priority").desc(), "run_after", "id")\n\n    def held_back'
SCHEDULED = 'return self.filter(status=Status.PENDING, hold=Hold.SCHEDULED).order_by("run_after")'
PAUSED = "Queue.objects.filter(name=queue, paused=True)"
MAY_CLAIM = 'return Worker.objects.live().filter(pk=Given("worker", models.UUIDField()), drain_requested=False)'
IDLE_GPU = "gpu=True, status=WorkerStatus.IDLE, drain_requested=False, last_heartbeat__gt=Now() - patience"
FOR_CPU = (
    "return Q(accelerator=Accelerator.NONE) | (Q(accelerator=Accelerator.PREFER) & (waited_enough | nobody_better))"
)
STILL_HELD = "Job.objects.filter(worker=worker, status=Status.RUNNING, claim_id=claim_id)"
CANDIDATES = "jobs.select_for_update(skip_locked=True, no_key=True).values_list"
ISOLATION, ISOLATED, WAKE = "jobs/lifecycle/isolation.py", lifecycle("isolation"), lifecycle("wake_up")
COMES_BACK = "if to == Status.PENDING and hold != Hold.WAITING and delay <= wake_up.SOON:"
HEADS = "AND NOT EXISTS (SELECT 1 FROM {queue} WHERE {queue}.name = queues.name AND {queue}.paused)"

MUTANTS = [
    Mutant("ready: any queue", JOB, READY, READY.replace("queue=queue, ", ""), CLAIMS),
    Mutant("ready: any status", JOB, READY, READY.replace("status=Status.PENDING, ", ""), CLAIMS),
    Mutant("ready: held back, too", JOB, READY, READY.replace(", hold=Hold.NONE", ""), CLAIMS),
    Mutant("ready: paused, too", JOB, READY, READY.replace("~Exists(paused), ", ""), CLAIMS),
    Mutant("ready: not while any queue is paused", JOB, PAUSED, PAUSED.replace("name=queue, ", ""), CLAIMS),
    Mutant("ready: not if it was ever paused", JOB, PAUSED, PAUSED.replace(", paused=True", ""), CLAIMS),
    Mutant("ready: lowest priority first", JOB, ORDER, ORDER.replace('F("priority").desc()', '"priority"'), CLAIMS),
    Mutant("ready: newest first", JOB, ORDER, ORDER.replace('"run_after", "id"', '"-run_after", "-id"'), CLAIMS),
    Mutant(
        "due: before its time",
        JOB,
        "self.scheduled().filter(run_after__lte=StatementNow())",
        "self.scheduled()",
        CLAIMS,
    ),
    Mutant("due: any status", JOB, SCHEDULED, SCHEDULED.replace("status=Status.PENDING, ", ""), CLAIMS),
    Mutant("due: not only what is held back", JOB, SCHEDULED, SCHEDULED.replace(", hold=Hold.SCHEDULED", ""), CLAIMS),
    Mutant("claim: by offline and disabled workers", LINE, MAY_CLAIM, MAY_CLAIM.replace(".live()", ""), CLAIMS),
    Mutant("claim: while draining", LINE, MAY_CLAIM, MAY_CLAIM.replace(", drain_requested=False", ""), CLAIMS),
    Mutant(
        "claim: if anybody may",
        LINE,
        MAY_CLAIM,
        MAY_CLAIM.replace('pk=Given("worker", models.UUIDField()), ', ""),
        CLAIMS,
    ),
    Mutant("claim: more than the limit", TAKING, "kinds), limit - len(jobs), room", "kinds), limit, room", CLAIMS),
    Mutant("isolated: no limit", TAKING, "weight_of(job)) > self.room.left:", "weight_of(job)) < 0:", ISOLATED),
    Mutant("isolated: one more", TAKING, "self.room.left -= weight", "self.room.left -= 0", ISOLATED),
    Mutant("isolated: crashes do not count", ISOLATION, " or crashes > 0", "", ISOLATED),
    Mutant("isolated: only what crashed", ISOLATION, "kind in self.kinds or ", "", ISOLATED),
    Mutant("isolated: hold up what is behind", TAKING, "if self.surplus and not", "if False and not", ISOLATED),
    Mutant("isolated: behind them, suspects, too", ISOLATION, "self.weight(*facts) <= self.left", "True", ISOLATED),
    Mutant(
        "isolated: twice the same",
        ISOLATION,
        "if pk not in known]",
        "]",
        ISOLATED,
        also=(Edit(TAKING, "if job.pk not in self.known]", "]"),),
    ),
    Mutant("isolated: who looked meanwhile is not told", TAKING, "wake_up.send_to(left_behind)", "", WAKE, POSTGRES),
    Mutant(
        "isolated: without room, locked all the same",
        TAKING,
        "if not self.room.left:",
        "if False:",
        WAKE,
        POSTGRES,
        also=(Edit(TAKING, "bool(self.taken and self.surplus)", "self.surplus"),),
    ),
    Mutant("heavy: weighs like any other", ISOLATION, "self.kinds.get(kind, 1) if", "1 if", ISOLATED),
    Mutant("heavy: starved by small ones", ISOLATION, "> 1 and age > HEAVY_WAIT", "> 1 and False", ISOLATED),
    Mutant("heavy: never patient", ISOLATION, "> 1 and age > HEAVY_WAIT", "> 1", ISOLATED),
    Mutant(
        "heavy: starved by what needs no room",
        ISOLATION,
        "any(light) and not any(self.is_due_a_place(kind, age) for _, age, kind, *_ in head)",
        "any(light)",
        ISOLATED,
    ),
    Mutant("size: any", LINE, " if sized else jobs", " if False else jobs", ISOLATED),
    Mutant("heads: of paused queues, too", "jobs/models/ready_heads.py", HEADS, "", CLAIMS),
    Mutant(
        "wake-up: for what is scheduled, too",
        "jobs/lifecycle/enqueue.py",
        "ready = [row for row in inserted if row.hold == Hold.NONE]",
        "ready = list(inserted)",
        WAKE,
        POSTGRES,
    ),
    Mutant(
        "wake-up: not for what comes back",
        "jobs/lifecycle/transition.py",
        COMES_BACK,
        "if False:",
        WAKE,
        POSTGRES,
    ),
    Mutant(
        "wake-up: for what waits, too",
        "jobs/lifecycle/transition.py",
        COMES_BACK,
        COMES_BACK.replace(" and delay <= wake_up.SOON", ""),
        WAKE,
        POSTGRES,
    ),
    Mutant(
        "wake-up: for what waits for others, too",
        "jobs/lifecycle/transition.py",
        COMES_BACK,
        COMES_BACK.replace(" and hold != Hold.WAITING", ""),
        WAKE,
        POSTGRES,
    ),
    Mutant("wake-up: not when resumed", "jobs/lifecycle/queues.py", "wake_up.send_to([name],", "set(", WAKE, POSTGRES),
    Mutant(
        "claim: the same id adds",
        CLAIM,
        "writes.expect(1, use_of(claim_id, worker), lambda _: ClaimIdUsed(claim_id=claim_id))",
        "writes.add(use_of(claim_id, worker))",
        CLAIMS,
    ),
    Mutant("claim again: of any worker", CLAIM, STILL_HELD, STILL_HELD.replace("worker=worker, ", ""), CLAIMS),
    Mutant("claim again: any claim", CLAIM, STILL_HELD, STILL_HELD.replace(", claim_id=claim_id", ""), CLAIMS),
    Mutant(
        "claim again: any status",
        CLAIM,
        STILL_HELD,
        STILL_HELD.replace("status=Status.RUNNING, ", ""),
        lifecycle("fence_alone"),
    ),
    Mutant("claim: charged before the start", MARKS, "ONE_MORE if start else SAME", "ONE_MORE", CLAIMS),
    Mutant(
        "claim: marked before the start",
        MARKS,
        '"started_at": transition.NOW if start else None',
        '"started_at": transition.NOW',
        CLAIMS,
    ),
    Mutant(
        "claim: waits for locked rows",
        LINE,
        CANDIDATES,
        CANDIDATES.replace("skip_locked=True, ", ""),
        races("claim_races"),
        POSTGRES,
    ),
    Mutant(
        "claim: locks nothing",
        LINE,
        CANDIDATES,
        CANDIDATES.replace(".select_for_update(skip_locked=True, no_key=True)", ""),
        races("claim_races"),
        POSTGRES,
    ),
    Mutant(
        "promote: locks nothing",
        "jobs/lifecycle/promote.py",
        ".select_for_update(skip_locked=True, no_key=True)",
        "",
        races("claim_races"),
        POSTGRES,
    ),
    Mutant("gpu: everybody has one", LINE, "if gpu:", "if True:", GPU),
    Mutant("gpu: nobody has one", LINE, "if gpu:", "if False:", GPU),
    Mutant("gpu: a CPU worker takes nothing plain", LINE, FOR_CPU, FOR_CPU.replace("NONE", "PREFER", 1), GPU),
    Mutant("gpu: a CPU worker takes what requires one", LINE, "accelerator=Accelerator.PREFER)", "pk__gt=0)", GPU),
    Mutant("gpu: a CPU worker never waits", LINE, "(waited_enough | nobody_better)", "Q()", GPU),
    Mutant("gpu: a CPU worker waits for ever", LINE, "waited_enough | nobody_better", "nobody_better", GPU),
    Mutant("gpu: a CPU worker waits for nobody", LINE, "waited_enough | nobody_better", "waited_enough", GPU),
    Mutant("gpu: waits for any idle worker", LINE, IDLE_GPU, IDLE_GPU.replace("gpu=True, ", ""), GPU),
    Mutant("gpu: waits for a busy one", LINE, IDLE_GPU, IDLE_GPU.replace("status=WorkerStatus.IDLE, ", ""), GPU),
    Mutant(
        "gpu: waits for one not heard of",
        LINE,
        IDLE_GPU,
        IDLE_GPU.replace(", last_heartbeat__gt=Now() - patience", ""),
        GPU,
    ),
    Mutant("gpu: waits for one that drains", LINE, IDLE_GPU, IDLE_GPU.replace("drain_requested=False, ", ""), GPU),
]
