"""Live progress over Redis: each report that was stored is published, for whoever shows it elsewhere."""

import json
from typing import Any

from jobs.conf import conf
from jobs.dispatch.link import RedisAway, link


def channel(job_id: int) -> str:
    return f"{conf.REDIS_PREFIX}:progress:{job_id}"


def publish(job_id: int, document: dict[str, Any]) -> None:
    """Where Redis is away nobody hears it; the database has it all the same."""
    try:
        link().call(lambda client: client.publish(channel(job_id), json.dumps(document)))
    except RedisAway:
        return  # told when it happened
