"""`{% load video_texts %}`: durations and bitrates as people read them."""

from django import template

from jobs.videos.shown.texts import bitrate, clock

register = template.Library()
register.filter("clock", clock)
register.filter("bitrate", bitrate)
