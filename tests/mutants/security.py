"""Mutations of what keeps strangers out and secrets in: the limit of log-ins, the headers, the redaction of logs."""

from tests.mutants.mutant import Mutant

LIMITS, HEADERS, SANITISE, LOGS = "project/login/limits.py", "project/headers.py", "jobs/sanitise.py", "jobs/logs.py"
LOGIN, SAID, LINES = ("tests/project/test_login.py",), ("tests/project/test_headers.py",), ("tests/test_logs.py",)

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
]  # fmt: skip
