"""Mutations of the guards around webhooks: whom they call, within which limits, and what is written of it."""

from tests.mutants.mutant import Mutant, lifecycle

ADDRESS, SENDER, RESOLVING = "jobs/web_address.py", "jobs/webhooks/sender.py", "jobs/webhooks/resolving.py"
LIMITS, TRYING, DELIVERING = "jobs/webhooks/limits.py", "jobs/webhooks/trying.py", "jobs/webhooks/delivering.py"
TAKE, RECORD = "jobs/lifecycle/take_deliveries.py", "jobs/lifecycle/record_deliveries.py"
GIVE_UP, BREAKER = "jobs/lifecycle/give_up_deliveries.py", "jobs/lifecycle/breaker.py"
ANNOUNCE, AGAIN = "jobs/lifecycle/announce.py", "jobs/lifecycle/send_again.py"
FORGET, ADMIN = "jobs/lifecycle/forget_deliveries.py", "jobs/admin/webhook.py"
SEND, SHAPE, DELIVER = ("tests/webhooks/test_sender.py",), ("tests/test_web_address.py",), ("tests/webhooks",)
ROWS, TOLD, PAGES = lifecycle("deliveries"), lifecycle("announce"), ("tests/admin/test_webhooks.py",)

MUTANTS = [
    Mutant(
        "webhook: private addresses are called", ADDRESS, "    if why := not_public(address):", "    if False:", SEND
    ),
    Mutant("webhook: NAT64 hides an address", ADDRESS, "    if address in NAT64:", "    if False:", SHAPE),
    Mutant("webhook: odd forms of addresses", ADDRESS, "[2]) and not is_address(host):", "[2]) and False:", SHAPE),
    Mutant("webhook: a password in the URL", ADDRESS, 'if "@" in parts.netloc:', "if False:", SHAPE),
    Mutant("webhook: http to anybody", ADDRESS, '    if target.scheme != "https":', "    if False:", SEND),
    Mutant("webhook: any port", ADDRESS, "    if target.port not in policy.ports:", "    if False:", SEND),
    Mutant(
        "webhook: only the first address is checked",
        RESOLVING,
        "for address in found:",
        "for address in found[:1]:",
        SEND,
    ),
    Mutant(
        "webhook: the name is looked up again",
        SENDER,
        "sock.connect((str(address), target.port))",
        "sock.connect(socket.getaddrinfo(target.host, target.port)[0][4])",
        SEND,
    ),
    Mutant(
        "webhook: any certificate",
        SENDER,
        "context = ssl.create_default_context()",
        "context = ssl._create_unverified_context()",
        SEND,
    ),
    Mutant(
        "webhook: a certificate for anybody",
        SENDER,
        "context.sslsocket_class = TlsSocket",
        "context.sslsocket_class, context.check_hostname = TlsSocket, False",
        SEND,
    ),
    Mutant(
        "webhook: the time begins anew with each byte",
        LIMITS,
        "self.settimeout(self.limits.time_left())  # type: ignore[attr-defined]  # a socket's",
        "self.settimeout(5)  # type: ignore[attr-defined]",
        SEND,
    ),
    Mutant("webhook: an answer without end", LIMITS, "        if self.size_left < 0:", "        if False:", SEND),
    Mutant("webhook: a slow look-up", RESOLVING, "thread.join(limits.time_left())", "thread.join(5)", SEND),
    Mutant(
        "webhook: what is refused is tried again",
        TRYING,
        "error=words(error), hopeless=True)",
        "error=words(error))",
        DELIVER,
    ),
    Mutant(
        "webhook: 404 blames the host",
        TRYING,
        "host_is_well=answer.status < 500 and",
        "host_is_well=answer.status < 300 and",
        DELIVER,
    ),
    Mutant("webhook: one host gets all slots", DELIVERING, "max(1, slots // 2)", "slots", DELIVER),
    Mutant(
        "webhook: a retried attempt is announced",
        "jobs/lifecycle/transition.py",
        "    if to in TERMINAL:\n        collected.add(*announce",
        "    if to != Status.RUNNING:\n        collected.add(*announce",
        TOLD,
    ),
    Mutant(
        "webhook: who has none is announced",
        ANNOUNCE,
        "told = [job for job in jobs if job.webhook_url]",
        "told = list(jobs)",
        TOLD,
    ),
    Mutant(
        "webhook: each progress is announced",
        ANNOUNCE,
        "percent // step > job.progress // step",
        "percent > job.progress",
        TOLD,
    ),
    Mutant(
        "webhook: old progress is kept",
        ANNOUNCE,
        "    if any(progress_step(job.kind) for job in told):",
        "    if False:",
        TOLD,
    ),
    Mutant("webhook: taken without a lease", TAKE, ", next_try_at=Now() + lease()", "", ROWS),
    Mutant("webhook: tries are not counted", TAKE, ' tries=F("tries") + 1,', "", ROWS),
    Mutant("webhook: a late sender writes", RECORD, " if row.claim_id == by_id[row.pk].delivery.claim_id", "", ROWS),
    Mutant("webhook: tries without end", RECORD, "each.hopeless or row.tries >= row.max_tries", "each.hopeless", ROWS),
    Mutant(
        "webhook: history of a job that is gone",
        GIVE_UP,
        "        if row.event != EventName.PROGRESSED and row.job_id in jobs",
        "        if row.event != EventName.PROGRESSED",
        ROWS,
    ),
    Mutant("webhook: never given up", GIVE_UP, "row.give_up_at <= row.now or", "", ROWS),
    Mutant("webhook: held for ever", RECORD, "        give_up_held()", "        pass", ROWS),
    Mutant(
        "webhook: two probe a host",
        BREAKER,
        "update(open_until=Now() + lease, probe=claim_id)",
        "update(probe=claim_id)",
        ROWS,
    ),
    Mutant(
        "webhook: a failed probe does not open it again",
        BREAKER,
        "(row.open_until is None or is_probe)",
        "row.open_until is None",
        ROWS,
    ),
    Mutant("webhook: each failure opens it further", BREAKER, "(row.open_until is None or is_probe)", "True", ROWS),
    Mutant(
        "webhook: held ones are forgotten",
        BREAKER,
        "    WebhookDelivery.objects.held(host).update(next_try_at=Now())",
        "    pass",
        ROWS,
    ),
    Mutant(
        "webhook: a host without messages is looked at for ever",
        BREAKER,
        "open_until=None, probe=None, failures",
        "probe=None, failures",
        ROWS,
    ),
    Mutant("webhook: send again interferes", AGAIN, "delivery_ids), claim_id=None)", "delivery_ids))", ROWS),
    Mutant("webhook: send again waits for the breaker", AGAIN, "    breaker.let_try(", "    set(", ROWS),
    Mutant(
        "webhook: what is pending goes with its job",
        FORGET,
        'Among("job_id", GivenList("ids")), finished_at__isnull=False',
        'Among("job_id", GivenList("ids"))',
        TOLD,
    ),
    Mutant(
        "webhook: anybody sends again",
        ADMIN,
        '(["POST"])\n        if not self.may_operate(request):',
        '(["POST"])\n        if not self.has_view_permission(request):',
        PAGES,
    ),
]
