"""The form by which people add a video in the admin."""

from django import forms

from jobs.videos.lifecycle.add import Added, add_video
from jobs.videos.transcoding.ladder import NAMES
from jobs.videos.wanted import LONGEST_TITLE


class UploadForm(forms.Form):
    file = forms.FileField(
        label="Video file",
        help_text="It is stored as it is and never shown to visitors; the qualities below are made of it.",
        widget=forms.FileInput(attrs={"accept": "video/*,.mkv,.ts,.m2ts,.mxf"}),
        max_length=255,
    )
    title = forms.CharField(
        required=False,
        max_length=LONGEST_TITLE,
        help_text="Left empty, it is made of the file's name.",
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    qualities = forms.MultipleChoiceField(
        required=False,
        choices=[(name, name) for name in NAMES],
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen means all that the video has the size for. A video is never made larger than it is.",
    )
    strict = forms.BooleanField(
        required=False,
        label="All or nothing",
        help_text="If one quality cannot be made, nothing is published. Otherwise what could be made is.",
    )
    force = forms.BooleanField(
        required=False,
        label="Add it although a video has the same content",
        help_text="Otherwise you are told which one that is, and nothing is stored twice.",
    )

    def add(self) -> Added:
        given = self.cleaned_data
        return add_video(
            given["file"],
            title=given["title"],
            qualities=given["qualities"] or None,
            strict=given["strict"],
            force=given["force"],
        )
