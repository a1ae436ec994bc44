"""Mutations of reap: each rule's conditions, the charge, and marking workers offline."""

from tests.mutants.mutant import POSTGRES, Edit, Mutant, lifecycle, races

REAP, PROCESS, JOB = "jobs/lifecycle/reap.py", "jobs/process_identity.py", "jobs/models/job.py"
ENDING, TURNS, TURN = "jobs/lifecycle/ending.py", "jobs/lifecycle/turns.py", lifecycle("reap_in_turn")
GRACE, SHIELD = lifecycle("grace"), "jobs/lifecycle/grace.py"
REAPS = lifecycle("reap", "reap_dead_process", "unlisted_claims", "grace", "attempts", "guards")
NEARBY = "Exists(holding) | Q(status__in=LIVE_WORKER), boot_id=here.boot_id, pid_namespace=here.pid_namespace"
SAME_PLACE = "(other.boot_id, other.pid_namespace) != (here.boot_id, here.pid_namespace)"
RULE_B = "left_alone = expired() & Q(~Exists(live_worker()))"
SILENT = "Q(last_heartbeat__lt=threshold) | Q(last_heartbeat=None, registered_at__lt=threshold)"
LIVE = "Worker.objects.live().filter(which)"
RUNNING = 'Q(status=Status.RUNNING) & Q(IsNull(F("worker_id"), False))'
TAKEN = "transition.lock(Job.objects.running().filter(which), skip_locked=True, limit=BATCH)"

MUTANTS = [
    Mutant(
        "dead: on any boot",
        REAP,
        NEARBY,
        NEARBY.replace("boot_id=here.boot_id, ", ""),
        REAPS,
        also=(Edit(PROCESS, SAME_PLACE, "other.pid_namespace != here.pid_namespace"),),
    ),
    Mutant(
        "dead: in any pid namespace",
        REAP,
        NEARBY,
        NEARBY.replace(", pid_namespace=here.pid_namespace", ""),
        REAPS,
        also=(Edit(PROCESS, SAME_PLACE, "other.boot_id != here.boot_id"),),
    ),
    Mutant("dead: only workers said to live", REAP, NEARBY, NEARBY.replace("Exists(holding) | ", ""), REAPS),
    Mutant(
        "dead: only workers that hold something",
        REAP,
        NEARBY,
        NEARBY.replace(" | Q(status__in=LIVE_WORKER)", ""),
        REAPS,
    ),
    Mutant("dead: the pid alone counts", PROCESS, " or ticks != other.start_ticks", " or not ticks", REAPS),
    Mutant(
        "dead: a zombie lives",
        PROCESS,
        "state in DEAD_STATES or ",
        "",
        (*lifecycle("reap_dead_process"), "tests/test_process_identity.py"),
    ),
    Mutant(
        "dead: everybody nearby",
        REAP,
        "for worker in nearby if proven_dead(worker.process, here)",
        "for worker in nearby",
        REAPS,
    ),
    Mutant("silent: nobody", REAP, SILENT, "Q(pk=None)", REAPS),
    Mutant(
        "silent: whoever beat",
        REAP,
        SILENT,
        SILENT.replace("last_heartbeat__lt=threshold", "last_heartbeat__isnull=False"),
        REAPS,
    ),
    Mutant("silent: not who never beat", REAP, SILENT, "Q(last_heartbeat__lt=threshold)", REAPS),
    Mutant("silent: whoever never beat", REAP, SILENT, SILENT.replace(", registered_at__lt=threshold", ""), REAPS),
    Mutant("silent: by registration alone", REAP, SILENT, "Q(registered_at__lt=threshold)", REAPS),
    Mutant("offline: disabled ones, too", REAP, LIVE, "Worker.objects.filter(which)", REAPS),
    Mutant("rule b: lease still runs", REAP, RULE_B, "left_alone = Q(~Exists(live_worker()))", REAPS),
    Mutant("rule b: worker still lives", REAP, RULE_B, "left_alone = expired()", REAPS),
    Mutant("rule b: off", REAP, RULE_B, "left_alone = Q(pk=None)", REAPS),
    Mutant(
        "rule b: a disabled or offline worker is there",
        REAP,
        "Worker.objects.live().filter(pk=OuterRef",
        "Worker.objects.filter(pk=OuterRef",
        REAPS,
    ),
    Mutant("rule b: anybody who lives will do", REAP, '.live().filter(pk=OuterRef("worker_id"))', ".live()", REAPS),
    Mutant("rule c: off", REAP, "take_back(expired(conf.STALE_LOCK_AGE) &", "take_back(Q(pk=None) &", REAPS),
    Mutant("rule c: at once", REAP, "take_back(expired(conf.STALE_LOCK_AGE) &", "take_back(expired() &", REAPS),
    Mutant("rule c: cannot be switched off", REAP, "if conf.STALE_LOCK_AGE:", "if True:", REAPS),
    Mutant(
        "expired: never", REAP, "lease_expires_at__lte=Now()", "lease_expires_at__lte=Now() - timedelta(days=9)", REAPS
    ),
    Mutant("grace: none", REAP, "judge(reduce(or_, shields, NOBODY)", "judge(NOBODY", GRACE, POSTGRES),
    Mutant("grace: marks who is shielded offline", REAP, "silent() & ~shielded", "silent()", GRACE, POSTGRES),
    Mutant("grace: not for rule b", REAP, "left_alone & fair_game", "left_alone", GRACE, POSTGRES),
    Mutant(
        "grace: not for rule c", REAP, "(conf.STALE_LOCK_AGE) & fair_game", "(conf.STALE_LOCK_AGE)", GRACE, POSTGRES
    ),
    Mutant("grace: shields everybody", SHIELD, "last_heartbeat__gte=heard", "pk__isnull=False", GRACE, POSTGRES),
    Mutant(
        "grace: not who never beat",
        SHIELD,
        " | Q(last_heartbeat=None, registered_at__gte=heard)",
        "",
        GRACE,
        POSTGRES,
    ),
    Mutant(
        "grace: for ever", SHIELD, "up_since__gt=Now()", "up_since__isnull=False) | Q(up_since=Now()", GRACE, POSTGRES
    ),
    Mutant(
        "grace: any pause is a silence",
        SHIELD,
        "max(conf.WORKER_OFFLINE_THRESHOLD - beats, 2 * beats)",
        "conf.WORKER_OFFLINE_THRESHOLD - beats",
        GRACE,
        POSTGRES,
    ),
    Mutant(
        "grace: only what is longer than the threshold",
        SHIELD,
        "conf.WORKER_OFFLINE_THRESHOLD - beats,",
        "conf.WORKER_OFFLINE_THRESHOLD,",
        GRACE,
        POSTGRES,
    ),
    Mutant("reap: what does not run", JOB, RUNNING, 'Q(IsNull(F("worker_id"), False))', lifecycle("fence_alone")),
    Mutant("unlisted: after one beat", REAP, "BEATS_UNTIL_UNLISTED = 2", "BEATS_UNTIL_UNLISTED = 1", REAPS),
    Mutant("unlisted: after three beats", REAP, "BEATS_UNTIL_UNLISTED = 2", "BEATS_UNTIL_UNLISTED = 3", REAPS),
    Mutant("unlisted: everything", REAP, "return Q(unlisted_beats__gte=BEATS_UNTIL_UNLISTED)", "return Q()", REAPS),
    Mutant("unlisted: charged", REAP, ", result, charge=False)", ", result)", REAPS),
    Mutant("charge: also what never began", REAP, "elif job.has_started and charge:", "elif charge:", REAPS),
    Mutant("charge: never", REAP, "elif job.has_started and charge:", "elif False:", REAPS),
    Mutant("charge: crashes are not counted", ENDING, "if self.crashes:", "if False:", REAPS),
    Mutant(
        "give back: a cancel request is forgotten", REAP, "    if job.cancel_requested_at:\n", "    if False:\n", REAPS
    ),
    Mutant("give back: charged", ENDING, "charge=-1 if job.has_started else 0", "charge=0", REAPS),
    Mutant("turn: everybody's", TURNS, "taken_at__lte=over", "taken_at__isnull=False", TURN),
    Mutant("turn: nobody's", TURNS, "taken_at__lte=over", "pk=None", TURN),
    Mutant("turn: after the whole interval", TURNS, "SHARE = 0.75", "SHARE = 1", TURN),
    Mutant("turn: any chore", TURNS, "filter(name=name, taken", "filter(taken", TURN),
    Mutant("turn: one for all machines", REAP, 'f"reap {here.boot_id} {here.pid_namespace}"', '"reap here"', TURN),
    Mutant("turn: the first is nobody's", TURNS, "return bool(insert_new(", "return not bool(insert_new(", TURN),
    Mutant("turn: judges with every machine", REAP, "    if everywhere:\n", "    if True:\n", TURN),
    Mutant(
        "turn: looked at first, taken then",
        TURNS,
        "if Turn.objects.filter(name=name, taken_at__lte=over).update(taken_at=Now()):",
        "if Turn.objects.filter(name=name, taken_at__lte=over).exists() and Turn.objects.update(taken_at=Now()):",
        races("turns"),
        POSTGRES,
    ),
    Mutant(
        "reap: one row stops all",
        REAP,
        "except Exception as error:  # whatever",
        "except () as error:  # whatever",
        REAPS,
    ),
    Mutant(
        "reap: waits for locked rows",
        REAP,
        TAKEN,
        TAKEN.replace("skip_locked=True, ", ""),
        races("reap_races"),
        POSTGRES,
    ),
    Mutant(
        "offline: locks nothing",
        REAP,
        '.order_by("pk").select_for_update(no_key=True, skip_locked=True)',
        '.order_by("pk")',
        races("reapers", "worker_races"),
        POSTGRES,
    ),
]
