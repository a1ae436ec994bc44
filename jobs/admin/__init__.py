"""The operator's pages in the Django admin."""

from jobs.admin import job, limit, periodic, queue, webhook, worker  # noqa: F401  registers the pages
