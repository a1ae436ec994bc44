"""Rows that people look at but never edit by hand: only lifecycle verbs write them."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from jobs.lifecycle.payload import unstorable


class ReadOnlyAdmin(admin.ModelAdmin):
    """Shows everything, changes nothing; what may be done is an action.

    Who may do it is told by Django's own permissions: *view* looks, *change* operates (retry, cancel, pause, drain …),
    *delete* administers (clear jobs, remove workers).
    """

    class Media:
        css = {"all": ("jobs/admin.css",)}
        js = ("jobs/admin.js", "jobs/live.js", "jobs/admin_live.js")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model | None:
        """None for a key that no database could have: a queue's is its name."""
        return None if unstorable(object_id) else super().get_object(request, object_id, from_field)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Who may operate or administer must see what."""
        return super().has_view_permission(request, obj) or self.may_operate(request) or self.may_administer(request)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        return self.may_operate(request)

    def has_administer_permission(self, request: HttpRequest) -> bool:
        return self.may_administer(request)

    def may_operate(self, request: HttpRequest) -> bool:
        return super().has_change_permission(request)

    def may_administer(self, request: HttpRequest) -> bool:
        return super().has_delete_permission(request)

    def page_context(self, request: HttpRequest, title: str, **more: Any) -> dict[str, Any]:
        """What every page of ours begins with."""
        return {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "media": self.media,
            "may_operate": self.may_operate(request),
            "may_administer": self.may_administer(request),
            **more,
        }


class ReadOnlyInline(admin.TabularInline):
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
