"""Mutations of the dedupe rules: the unique index, the look-up beside it, and what `force` frees."""

from tests.mutants.mutant import POSTGRES, Edit, Mutant, lifecycle, races

JOB, ENQUEUE, NEW = "jobs/models/job.py", "jobs/lifecycle/enqueue.py", "jobs/lifecycle/checker.py"
INSERT, MIGRATION = "jobs/lifecycle/sql/insert_jobs.py", "jobs/migrations/0001_initial.py"
TERMS = "jobs/lifecycle/new_job.py"
DERIVED, UNLESS_TOLD = "jobs/handlers/keys.py", "(derived_key(new.kind, new.payload) if terms.unique else None)"
SELECTION, CANCELS = "jobs/lifecycle/selection.py", lifecycle("cancel")
KEYS = lifecycle("dedupe", "enqueue_many", "retry", "guards")
KEEPS = "KEEPS_KEY = Q(dedupe_key__isnull=False) & (Q(status__in=ACTIVE) | Q(unique_ever=True))"
FINISHED = "Job.objects.filter(queue=job.queue, dedupe_key=job.dedupe_key, status__in=TERMINAL)"
INDEX = (
    "models.Q(('dedupe_key__isnull', False), models.Q(('status__in', (jobs.states.Status['PENDING'], "
    "jobs.states.Status['RUNNING'])), ('unique_ever', True), _connector='OR')), fields=('queue', 'dedupe_key')"
)
ACTIVE_PART = "('status__in', (jobs.states.Status['PENDING'], jobs.states.Status['RUNNING'])), "

MUTANTS = [
    Mutant("index: active jobs keep nothing", MIGRATION, INDEX, INDEX.replace(ACTIVE_PART, ""), KEYS),
    Mutant(
        "index: a running job keeps nothing",
        MIGRATION,
        INDEX,
        INDEX.replace(", jobs.states.Status['RUNNING']", ","),
        KEYS,
    ),
    Mutant(
        "index: a pending job keeps nothing",
        MIGRATION,
        INDEX,
        INDEX.replace("jobs.states.Status['PENDING'], ", "", 1).replace("['RUNNING'])", "['RUNNING'],)"),
        KEYS,
    ),
    Mutant("index: nothing is kept for ever", MIGRATION, INDEX, INDEX.replace("('unique_ever', True), ", ""), KEYS),
    Mutant(
        "index: everything is kept for ever",
        MIGRATION,
        INDEX,
        INDEX.replace("('unique_ever', True)", "('pk__gt', 0)"),
        KEYS,
    ),
    Mutant(
        "index: over all queues", MIGRATION, INDEX, INDEX.replace("('queue', 'dedupe_key')", "('dedupe_key',)"), KEYS
    ),
    Mutant("meet: not who is active", JOB, KEEPS, KEEPS.replace("Q(status__in=ACTIVE) | ", ""), KEYS),
    Mutant("meet: not who is unique for ever", JOB, KEEPS, KEEPS.replace(" | Q(unique_ever=True)", ""), KEYS),
    Mutant("meet: whoever had the key", JOB, KEEPS, "KEEPS_KEY = Q(dedupe_key__isnull=False)", KEYS),
    Mutant(
        "meet: in any queue",
        JOB,
        "filter(KEEPS_KEY, queue__in=queues, ",
        "filter(KEEPS_KEY, ",
        KEYS,
        also=(
            Edit(ENQUEUE, "{(keeper.queue, keeper.dedupe_key): keeper", "{keeper.dedupe_key: keeper"),
            Edit(ENQUEUE, "keepers.get((job.queue, job.dedupe_key))", "keepers.get(job.dedupe_key)"),
        ),
    ),
    Mutant(
        "match: a key of another queue",
        ENQUEUE,
        "keyed.pop((job.queue, job.dedupe_key), None)",
        "keyed.pop(next((k for k in keyed if k[1] == job.dedupe_key), None), None)",
        KEYS,
    ),
    Mutant(
        "insert: no ON CONFLICT",
        INSERT,
        "WHERE TRUE ORDER BY place\nON CONFLICT DO NOTHING RETURNING",
        "WHERE TRUE ORDER BY place\nRETURNING",
        KEYS,
    ),
    Mutant(
        "insert: no ON CONFLICT on PostgreSQL",
        INSERT,
        "    ON CONFLICT DO NOTHING RETURNING",
        "    RETURNING",
        KEYS,
        POSTGRES,
    ),
    Mutant("force: without being told", ENQUEUE, "if job.force and job.dedupe_key:", "if job.dedupe_key:", KEYS),
    Mutant("force: never", ENQUEUE, "if job.force and job.dedupe_key:", "if False:", KEYS),
    Mutant("force: in every queue", ENQUEUE, FINISHED, FINISHED.replace("queue=job.queue, ", ""), KEYS),
    Mutant("force: every key", ENQUEUE, FINISHED, FINISHED.replace("dedupe_key=job.dedupe_key, ", ""), KEYS),
    Mutant("force: active ones, too", ENQUEUE, FINISHED, FINISHED.replace(", status__in=TERMINAL", ""), KEYS),
    Mutant(
        "force: meets a job that ended meanwhile",
        ENQUEUE,
        "if keeper and (keeper.status in ACTIVE or not job.force):",
        "if keeper:",
        races("dedupe_races"),
        POSTGRES,
    ),
    Mutant(
        "patience: many are tried once",
        "jobs/lifecycle/enqueue_many.py",
        "@transactional\ndef insert_patiently",
        "@transaction.atomic\ndef insert_patiently",
        races("patience"),
        POSTGRES,
    ),
    Mutant(
        "ids: of any type",
        SELECTION,
        "if isinstance(job_id, bool) or not isinstance(job_id, int)",
        "if not job_id",
        CANCELS,
    ),
    Mutant(
        "unique: active means for ever", TERMS, "return self.unique == Unique.EVER", "return bool(self.unique)", KEYS
    ),
    Mutant("unique: for ever means active", TERMS, "return self.unique == Unique.EVER", "return False", KEYS),
    Mutant("unique: derived without the payload", DERIVED, "json.dumps([kind, payload]", "json.dumps([kind]", KEYS),
    Mutant("unique: derived without the kind", DERIVED, "json.dumps([kind, payload]", "json.dumps([payload]", KEYS),
    Mutant("unique: without a key there is none", NEW, UNLESS_TOLD, "None", KEYS),
    Mutant("keys without being told", NEW, UNLESS_TOLD, "derived_key(new.kind, new.payload)", KEYS),
    Mutant(
        "patience: collisions are raised",
        "jobs/db.py",
        'TRANSIENT_SQLSTATES = ("40P01", "40001", "55P03")',
        "TRANSIENT_SQLSTATES = ()",
        races("patience"),
        POSTGRES,
    ),
    Mutant(
        "counts: a fold takes what another takes",
        "jobs/lifecycle/sql/fold.py",
        " FOR UPDATE SKIP LOCKED),",
        " FOR UPDATE),",
        races("counters"),
        POSTGRES,
    ),
]
