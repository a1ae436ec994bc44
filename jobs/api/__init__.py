"""Jobyard over HTTP, for programs: what all of its APIs share, and the queue's own. See docs/api.md."""
