"""What every answer of the site says to browsers, and the flags of its cookies."""

import re
from http.cookies import Morsel
from pathlib import Path

import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client, RequestFactory

from project.headers import POLICY, policies

pytestmark = [pytest.mark.once, pytest.mark.django_db]
ROOT = Path(settings.BASE_DIR)
INLINE = re.compile(
    r"<style|\sstyle=|<script(?![^>]*\ssrc=)(?![^>]*type=.application/json)|\son[a-z]+=[\"']|javascript:"
)

PATHS = [
    "/",
    "/admin/login/",
    "/accounts/login/",
    "/nowhere",
    "/api/queue/depth",
    "/health/live",
    "/metrics",
    "/videos/",
]


@pytest.fixture
def static(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # where there is none, WhiteNoise warns


@pytest.mark.usefixtures("static")
@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_the_headers_errors_and_redirects_too(path: str):
    answer = Client().get(path)
    assert answer["Content-Security-Policy"] == POLICY
    assert "camera=()" in answer["Permissions-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer["X-Frame-Options"] == "DENY"


@pytest.mark.usefixtures("static")
def test_cookies_are_for_this_site_alone_and_by_https_where_there_is(settings: LazySettings):
    User.objects.create_superuser("anna", password="correct horse")
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True  # as they are with HTTPS=1
    client = Client()
    client.get("/admin/login/")
    answer = client.post("/admin/login/", {"username": "anna", "password": "correct horse"})
    assert answer.status_code == 302
    flags = {name: flags_of(cookie) for name, cookie in client.cookies.items()}
    assert flags == {"sessionid": {"secure", "httponly", "Lax"}, "csrftoken": {"secure", "Lax"}}


def flags_of(cookie: "Morsel[str]") -> set[str]:
    return {name for name in ("secure", "httponly") if cookie[name]} | {cookie["samesite"]}


def test_a_view_may_say_otherwise_and_an_empty_policy_is_none(settings: LazySettings, rf: RequestFactory):
    def own(request: object) -> HttpResponse:
        return HttpResponse(headers={"Content-Security-Policy": "default-src https:"})

    assert policies(own)(rf.get("/"))["Content-Security-Policy"] == "default-src https:"
    settings.CONTENT_SECURITY_POLICY = ""
    assert "Content-Security-Policy" not in policies(lambda request: HttpResponse())(rf.get("/"))


def test_django_s_pages_for_developers_keep_their_styles(settings: LazySettings, rf: RequestFactory):
    def broken(request: object) -> HttpResponse:
        return HttpResponse(status=500)

    assert "Content-Security-Policy" in policies(broken)(rf.get("/"))
    settings.DEBUG = True
    assert "Content-Security-Policy" not in policies(broken)(rf.get("/"))


def test_no_template_has_a_script_or_a_style_in_the_page():
    pages = [*(ROOT / "jobs").rglob("*.html"), *(ROOT / "templates").rglob("*.html")]
    assert len(pages) > 20
    assert [page.name for page in pages if INLINE.search(page.read_text())] == []
