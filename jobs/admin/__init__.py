"""The operator's pages in the Django admin."""

from jobs.admin import job, periodic, queue, worker  # noqa: F401  registers the pages
