"""docs/security.md: its table of who may do what is what the site does, and no address is missing from it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

pytestmark = [pytest.mark.once, pytest.mark.django_db]
PAGE = (Path(settings.BASE_DIR) / "docs" / "security.md").read_text()
ROW = re.compile(r"^\| `(GET|POST) (\S+)` \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
ROWS = [(method, path, tuple(map(int, codes))) for method, path, *codes in ROW.findall(PAGE)]


@pytest.fixture
def clients(settings: LazySettings, tmp_path: Path) -> list[Client]:
    """Nobody, a user, staff, a viewer, an admin: as the columns are."""
    settings.STATIC_ROOT, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs", codename__startswith="view_"))
    users = [
        User.objects.create_user("user"), User.objects.create_user("staff", is_staff=True),
        viewer, User.objects.create_superuser("admin"),
    ]  # fmt: skip
    clients = [Client() for _ in range(5)]
    for client, user in zip(clients[1:], users, strict=True):
        client.force_login(user)
    return clients


def test_everybody_is_answered_as_the_table_says(clients: list[Client]):
    wrong = []
    for method, path, codes in ROWS:
        answers = [client.generic(method, path) for client in clients]
        if (found := tuple(answer.status_code for answer in answers)) != codes:
            wrong.append(f"{method} {path}: {found}, but the page says {codes}")
    assert wrong == []


def views(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern, before + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield before + str(pattern.pattern)


def test_every_address_of_the_site_is_in_the_table():
    """But for the admin's many pages, which go one way, and what only answers that nothing is there."""
    asked = [get_resolver().resolve(path.split("?")[0]).route for _, path, _ in ROWS]
    nothing_there = {"^api/events/", "^api/videos/"}
    exist = {view for view in views(get_resolver()) if not view.startswith("admin/")} - nothing_there
    assert len(exist) > 15
    assert exist - set(asked) == set()
