"""Job queues that `make bench` measures side by side, a module each: only that module knows how its queue is used.

A side runs as a process of its own, in the environment that has its queue installed:
`python -m benchmarks.sides.pgqueuer work`. The verbs are those of `side.main`.
"""
