"""Signs of life of the services that workers depend on, so that nobody is judged right after an outage."""

from django.db import models


class ServiceBeat(models.Model):
    name = models.CharField(max_length=20, primary_key=True)
    beat_at = models.DateTimeField()
    silent_from = models.DateTimeField(null=True, blank=True, help_text="When the last silence began; none yet: empty.")
    up_since = models.DateTimeField(null=True, blank=True, help_text="When it ended.")

    def __str__(self) -> str:
        return self.name
