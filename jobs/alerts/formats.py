"""An alert in the words of its receiver: JSON of our own, Slack's, Discord's, or a mail. Pure."""

import json
import socket
from typing import Any

from jobs.lifecycle.send_alerts import AlertToSend
from jobs.sanitise import ELLIPSIS, printable

DISCORD_LIMIT, SLACK_LIMIT = 2000, 3000
SLACK_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def body_of(alert: AlertToSend, form: str) -> bytes:
    make = {"json": as_json, "slack": as_slack, "discord": as_discord}[form]
    return json.dumps(make(alert), ensure_ascii=False, separators=(",", ":")).encode()


def as_json(alert: AlertToSend) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "key": alert.key,
        "severity": severity(alert),
        "text": alert.text,
        "advice": alert.advice,
        "suppressed": alert.suppressed,
        "raised_at": alert.raised_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "host": socket.gethostname(),
        "details": alert.details,
    }


def as_slack(alert: AlertToSend) -> dict[str, Any]:
    """Escaped as Slack asks for: a subject that says `<!channel>` calls nobody."""
    return {"text": "".join(SLACK_ESCAPES.get(char, char) for char in shortened(words(alert), SLACK_LIMIT))}


def as_discord(alert: AlertToSend) -> dict[str, Any]:
    """Mentions inside of it are not obeyed."""
    return {"content": shortened(words(alert), DISCORD_LIMIT), "allowed_mentions": {"parse": []}}


def as_mail(alert: AlertToSend) -> tuple[str, str]:
    """The subject, which is one line, and the text."""
    return printable(f"[{severity(alert)}] {alert.text}", 150), words(alert) + f"\n\nSent by {socket.gethostname()}.\n"


def words(alert: AlertToSend) -> str:
    lines = [f"[{severity(alert)}] {alert.name}: {alert.text}", alert.advice]
    if alert.suppressed:
        lines.append(f"Raised {alert.suppressed:,} more time{'s' * (alert.suppressed > 1)} since the last message.")
    return "\n".join(line for line in lines if line)


def severity(alert: AlertToSend) -> str:
    if alert.grave:
        return "critical"
    return "info" if alert.name in ("worker_startup", "worker_shutdown") else "warning"


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS
