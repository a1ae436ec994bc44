"""A quality of the published version of a video."""

from django.db import models

from jobs.videos.models.video import Video


class VideoQuality(models.Model):
    video = models.ForeignKey(Video, on_delete=models.CASCADE, related_name="qualities")
    name = models.CharField(max_length=50)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    bitrate = models.PositiveIntegerField(help_text="Measured, of picture and sound together, bits per second.")
    codec = models.CharField(max_length=40, help_text="As the playlist says it: avc1.640028.")
    encoder = models.CharField(max_length=40, help_text="What encoded it: libx264, h264_nvenc …")
    size = models.BigIntegerField(help_text="Bytes on disk.")

    class Meta:
        ordering = ["video", "-height", "-width"]
        verbose_name_plural = "video qualities"
        constraints = [models.UniqueConstraint(fields=["video", "name"], name="video_quality_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.video_id}"
