"""The queue over HTTP: its depth, its jobs, and what operators do with them."""

from jobs.api.queue import actions, bulk, enqueueing, queues, reads

routers = (reads.router, actions.router, bulk.router, enqueueing.router, queues.router)
