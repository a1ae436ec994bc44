"""The same process, of another boot."""

from dataclasses import replace

from django.apps import AppConfig

from jobs import process_identity

identity_here = process_identity.this_process


def identity_there() -> process_identity.ProcessIdentity:
    return replace(identity_here(), boot_id="00000000-0000-4000-8000-00000000feed")


class OtherMachine(AppConfig):
    name = "tests.other_machine"

    def ready(self) -> None:
        process_identity.this_process = identity_there
