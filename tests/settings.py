"""The settings of worker processes that tests start: the project's, and apps with kinds to test with."""

from project.settings import *  # noqa: F403  everything of the project's
from project.settings import INSTALLED_APPS, env

INSTALLED_APPS = [*INSTALLED_APPS, "tests.app", *env.list("TEST_APPS", default=[])]
