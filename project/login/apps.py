from django.apps import AppConfig


class LoginConfig(AppConfig):
    name = "project.login"
    label = "login"
    verbose_name = "Log-ins"

    def ready(self) -> None:
        from django.contrib import admin

        from project.login.forms import LimitedAdminForm

        admin.site.login_form = LimitedAdminForm
