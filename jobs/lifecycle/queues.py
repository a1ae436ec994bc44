"""Pause and resume a queue: paused, nothing of it is claimed; what runs goes on."""

from jobs.db import Now, transactional
from jobs.dispatch import hints
from jobs.lifecycle import events, wake_up
from jobs.lifecycle.new_job import check_queue, check_text
from jobs.models import Queue
from jobs.states import EventName


@transactional
def pause(name: str, reason: str = "") -> bool:
    """Returns whether it was running before."""
    check_text("reason", reason, 500)
    Queue.objects.get_or_create(name=check_queue(name))
    changed = Queue.objects.filter(name=name, paused=False).update(paused=True, paused_at=Now(), reason=reason)
    if changed:
        events.record([events.of_queue(name, EventName.QUEUE_PAUSED, reason)])
    return bool(changed)


@transactional
def resume(name: str, reason: str = "") -> bool:
    """Returns whether it was paused before."""
    changed = Queue.objects.filter(name=check_queue(name), paused=True).update(paused=False, paused_at=None, reason="")
    if changed:
        events.record([events.of_queue(name, EventName.QUEUE_RESUMED, reason)])
        wake_up.send_to([name], number=hints.MOST)  # it may hold many
    return bool(changed)
