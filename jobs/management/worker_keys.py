"""What the commands about keys of remote workers share."""

from jobs.models import WorkerKey


def until(key: WorkerKey) -> str:
    return f"until {key.expires_at:%Y-%m-%d %H:%M} UTC" if key.expires_at else "until it is revoked"
