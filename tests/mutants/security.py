"""Mutations of what keeps strangers out and secrets in: log-ins, headers, logs, confined programs, slow requests."""

from tests.mutants.mutant import Mutant

LIMITS, HEADERS, SANITISE, LOGS = "project/login/limits.py", "project/headers.py", "jobs/sanitise.py", "jobs/logs.py"
LOGIN, SAID, LINES = ("tests/project/test_login.py",), ("tests/project/test_headers.py",), ("tests/test_logs.py",)
CONFINEMENT, CONFINED = "jobs/handlers/confinement.py", ("tests/security/test_confinement.py",)
PACE, SLOW, ATTACKS = "project/pace.py", ("tests/security/test_slow_requests.py",), ("tests/security/test_attacks.py",)
REACH, ADDED = "jobs/videos/lifecycle/reach.py", ("tests/videos/test_library.py",)

MUTANTS = [
    Mutant("login: no limit by name", LIMITS, "[(by_name, OF_NAME), (from_address", "[(from_address", LOGIN),
    Mutant("login: no limit by address", LIMITS, ", (from_address, OF_ADDRESS)]", "]", LOGIN),
    Mutant("login: refusals count", LIMITS, "    attempt.delete()\n", "", LOGIN),
    Mutant("login: strangers lock users out", LIMITS, "if not LoginAttempt.objects", "if LoginAttempt.objects", LOGIN),
    Mutant("login: nothing is forgiven", LIMITS, "attempt.address, succeeded=False)", "attempt.address, pk=0)", LOGIN),
    Mutant("login: names in clear", LIMITS, "name=digest(folded(name))", "name=folded(name)[:64]", LOGIN),
    Mutant("login: spellings differ", LIMITS, ".casefold().strip()", "", LOGIN),
    Mutant("headers: no policy", HEADERS, "if settings.CONTENT_SECURITY_POLICY and", "if False and", SAID),
    Mutant("logs: messages as they are", LOGS, "self.clean(message_of(record))", "message_of(record)", LINES),
    Mutant("logs: cut before redacted", LOGS, "clean_text(text, 10 * LONGEST)", "clean_text(text, 50)", LINES),
    Mutant("logs: passwords of URLs in clear", SANITISE, "        yield unquote(match[2])\n", "", LINES),
    Mutant("confined: any memory", CONFINEMENT, "if self.memory:", "if False:", CONFINED),
    Mutant("confined: any computing", CONFINEMENT, "if self.cpu_seconds:", "if False:", CONFINED),
    Mutant("confined: files of any size", CONFINEMENT, "if self.file_size:", "if False:", CONFINED),
    Mutant("confined: new rights", CONFINEMENT, "        prctl(PR_SET_NO_NEW_PRIVS, 1)\n", "", CONFINED),
    Mutant("confined: with a network", CONFINEMENT, "if not self.network:", "if False:", CONFINED),
    Mutant("confined: told our secrets", "jobs/videos/transcoding/confined.py",
           " if name in NAMES or name.startswith(PREFIXES)", "", CONFINED),
    Mutant("confined: not the check of what is sent", REACH, "confinement=limits", "confinement=None", CONFINED),
    Mutant("confined: not ffmpeg", "jobs/videos/transcoding/ffmpeg.py", "confinement=limits", "confinement=None",
           CONFINED),
    Mutant("confined: not the probe", "jobs/videos/transcoding/probe.py", ", confinement=confinement())", ")",
           CONFINED),
    Mutant("confined: the check is told our secrets", "jobs/videos/transcoding/confined.py",
           "return environment() | {", "return {**os.environ} | {", CONFINED),
    Mutant("confined: references of a film are followed", "jobs/videos/transcoding/commands.py",
           'return ["-protocol', 'return ["-enable_drefs", "1", "-use_absolute_path", "1", "-protocol',
           ("tests/security/test_media.py",)),
    Mutant("add: whatever it is", "jobs/videos/source_file.py", "if why := why_hopeless(head):",
           "if why := None:", ADDED),
    Mutant("add: any text", "jobs/videos/transcoding/probing/containers.py", "why != UNKNOWN or is_text(head)",
           "why != UNKNOWN", ADDED),
    Mutant("slow: a thread for each form", PACE, "if not 0 < announced_length(scope) <= SMALL:", "if True:", SLOW),
    Mutant("slow: uploads may stop for ever", "project/wsgi_in_threads.py", "future.result(seconds)",
           "future.result()", SLOW),
    Mutant("slow: readers may stop for ever", "project/wsgi_in_threads.py", "send(body, more=more), seconds)",
           "send(body, more=more))", SLOW),
    Mutant("slow: the rest waits for its reader", PACE, "self.transport.abort", "self.transport.close", SLOW),
    Mutant("slow: headers without end", PACE, "if self._size > SMALL and", "if False and", SLOW),
    Mutant("slow: headers take their time", PACE, "call_later(settings.WEB_PATIENCE", "call_later(1000", SLOW),
    Mutant("slow: long forms of strangers", "project/forms.py", "if request.user.is_authenticated:", "if True:", SLOW),
    Mutant("spawn: children of the cancelled", "jobs/lifecycle/spawn.py", "if job.cancel_requested_at:", "if False:",
           ATTACKS),
]  # fmt: skip
