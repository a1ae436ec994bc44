"""The settings of worker processes that are measured: the project's, with the kinds of the benchmarks."""

from project.settings import *  # noqa: F403  everything of the project's
from project.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks"]
