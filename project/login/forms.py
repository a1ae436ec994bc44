"""The forms of both log-in pages, with the limit before the look at the password."""

from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from project.login import limits


class LimitedForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if self.request is None or not name or not password:
            return super().clean()
        try:
            attempt = limits.begin(name, self.request.META.get("REMOTE_ADDR", ""))
        except limits.TooManyFailures as refusal:
            raise ValidationError(str(refusal), code="too_many_failures") from refusal
        cleaned = super().clean()  # a wrong password leaves by an exception, and the attempt stays noted
        limits.succeeded(attempt)
        return cleaned


class LimitedAdminForm(LimitedForm, AdminAuthenticationForm):
    """The admin's own form refuses those who are not staff in `confirm_login_allowed`: that stays."""
