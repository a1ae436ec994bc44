"""`manage.py first_admin`: an admin login for a developer's machine, made once."""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Create the user 'admin' with a random password, printed once, if there is no superuser yet. DEBUG only."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("This is for DEBUG only; in production use `manage.py createsuperuser`.")
        users = get_user_model()._default_manager
        if users.filter(is_superuser=True).exists():
            self.stdout.write("Log in with your superuser. Forgot the password? Give it another one:")
            self.stdout.write("  DEBUG=1 .venv/bin/python manage.py changepassword admin")
            return
        password = secrets.token_urlsafe(9)
        users.create_superuser("admin", "", password)
        self.stdout.write(f"Log in as admin with the password {password} (shown only now).")
