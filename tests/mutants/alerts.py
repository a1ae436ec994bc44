"""Mutations of alerts: how often they are sent, who sends them, what is in them, and which events are judged."""

from tests.mutants.mutant import POSTGRES, Mutant

RAISE, SEND, READ = "jobs/lifecycle/raise_alerts.py", "jobs/lifecycle/send_alerts.py", "jobs/selectors/alerts.py"
RULES, SENDING, WATCH = "jobs/alerts/rules.py", "jobs/alerts/sending.py", "jobs/alerts/watching.py"
RAISING, LOOKS, MESSAGES = (
    ("tests/alerts/test_raising.py",),
    ("tests/alerts/test_watching.py",),
    ("tests/alerts/test_sending.py",),
)
PURE, TRACES, DOCTOR = ("tests/alerts/test_rules.py",), ("tests/tracing",), ("tests/doctor",)

QUIET = "(row.quiet_until is not None and row.quiet_until > row.now)"
GUARD = "filter(pk=alert.id, tries=alert.tries, due_at__isnull=False)"
MARK = "reading = AlertReading.objects.filter(pk=EVENTS, position=seen)"
SAFE = "max(before.position, line.safe or 0)"
CLEAN = "printable(clean_error(error.strip(), MOST_ERROR))"

MUTANTS = [
    Mutant("alert: no cooldown", RAISE, QUIET, "False", RAISING),
    Mutant("alert: one that waits is raised again", RAISE, "row.due_at is not None or ", "False or ", RAISING),
    Mutant("alert: what was suppressed is not counted", RAISE, 'F("suppressed") + 1}', 'F("suppressed")}', RAISING),
    Mutant(
        "alert: events are judged twice",
        RAISE,
        MARK,
        "reading = AlertReading.objects.filter(pk=EVENTS)",
        LOOKS,
        POSTGRES,
    ),
    Mutant("alert: a dead sender records", SEND, GUARD, "filter(pk=alert.id)", RAISING),
    Mutant("alert: tried for ever", SEND, "elif alert.tries >= conf.ALERT_TRIES:", "elif False:", RAISING),
    Mutant("alert: who was told is told again", SEND, '"channels": list(left)', '"channels": row.channels', MESSAGES),
    Mutant("alert: taken by two", SEND, "due_at=Now() + lease)", "due_at=row.due_at)", RAISING),
    Mutant("alert: late events are missed", READ, SAFE, "first.newest", LOOKS, POSTGRES),
    Mutant("alert: errors as they are", RULES, CLEAN, "error", PURE),
    Mutant("alert: attempts left count as none", RULES, "if event.attempts_left <= 0]", "]", PURE),
    Mutant(
        "alert: disks only in turn",
        WATCH,
        "    raised = from_concerns(concerns(Snapshot(disks=disks)))\n",
        "    raised: list[Raised] = []\n",
        LOOKS,
    ),
    Mutant("alert: an idle queue is read whole", WATCH, "if not before.is_busy and not has_news:", "if False:", LOOKS),
    Mutant("alert: only public addresses", SENDING, ", policy=ANYWHERE)", ")", MESSAGES),
    Mutant("trace: no context is stored", "jobs/tracing.py", "    if not here.is_valid:", "    if True:", TRACES),
    Mutant("trace: children do not flush", "jobs/worker/child.py", "        tracing.flush()\n", "", TRACES),
    Mutant(
        "doctor: one that breaks ends it",
        "jobs/doctor/round.py",
        "    except Exception as error:",
        "    except MemoryError as error:",
        DOCTOR,
    ),
]
