"""Django settings, all of them from the environment; `.env.example` documents each name."""

from pathlib import Path

import django
import environ
from django.core.exceptions import ImproperlyConfigured

from project.headers import POLICY
from project.logs import to_stderr

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
env.read_env(BASE_DIR / ".env")  # a missing file is fine; what the environment says wins

DEBUG = env.bool("DEBUG", default=False)


def secret_key() -> str:
    """The key from the environment; only DEBUG may do without one."""
    key = env.str("SECRET_KEY", default="")
    if key:
        return key
    if DEBUG:
        return "insecure-key-for-development-only-never-used-when-DEBUG-is-off"
    raise ImproperlyConfigured(
        "SECRET_KEY is not set. Put a long random string into the environment or into .env "
        "(python3 -c 'import secrets; print(secrets.token_urlsafe(50))'), or set DEBUG=1 on your own machine."
    )


SECRET_KEY = secret_key()
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if DEBUG else [])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "jobs",
    "jobs.videos",
    "project.demo",
    "project.login",
]
if django.VERSION < (6, 0):  # later ones have the task framework built in
    INSTALLED_APPS.append("django_tasks")
TASKS = {"default": {"BACKEND": "jobs.tasks_backend.JobyardBackend", "QUEUES": []}}

MIDDLEWARE = [
    "project.headers.policies",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "project.forms.SmallForStrangers",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"  # what runserver serves; gunicorn serves project.asgi around it
WEB_THREADS = env.int("WEB_THREADS", default=8)  # requests that a web process works on at once
WEB_PATIENCE = env.float("WEB_PATIENCE", default=30.0)  # seconds in which a request must be here: project/pace.py

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

VAR_DIR = BASE_DIR / "var"  # what this machine alone needs: the embedded database

DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'jobyard.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    VAR_DIR.mkdir(exist_ok=True)
    # SQLite drops select_for_update silently. Taking the write lock when a transaction begins
    # (IMMEDIATE) makes the same code safe; the timeout lets several workers share one file.
    DATABASES["default"].setdefault("OPTIONS", {}).update(
        transaction_mode="IMMEDIATE",
        timeout=20,
        init_command="PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    )
    # Worker processes started by tests must see the tests' database: a file, not memory.
    DATABASES["default"]["TEST"] = {"NAME": env.str("TEST_DATABASE_FILE", default=str(VAR_DIR / "test.sqlite3"))}
# Between two jobs a worker drops what is too old; opening anew for each would cost a quarter of a short job.
DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LANGUAGE_CODE = "en-us"
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
MEDIA_URL = "media/"
MEDIA_ROOT = Path(env.str("MEDIA_ROOT", default=str(BASE_DIR / "media")))
WHITENOISE_USE_FINDERS = DEBUG  # no collectstatic needed on a developer's machine

# HTTPS is the production default; HTTPS=0 is for a private network behind no TLS at all.
HTTPS = env.bool("HTTPS", default=not DEBUG)
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health/(live|ready)$"]  # probes come from next door, without TLS
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SAMESITE = "Lax"  # scripts of our pages read this one, to send it back in a header
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000 if HTTPS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = env.str("CONTENT_SECURITY_POLICY", default=POLICY)  # project/headers.py; empty = none
if env.bool("BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LOGGING = to_stderr(env.str("LOG_LEVEL", default="INFO"))
