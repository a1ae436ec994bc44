"""Everything at once, and everything goes wrong: `python -m tests.chaos --seconds 60 --seed 1`, or `make chaos`.

Also an app: workers that have it installed know the kinds of `job_handlers.py`.
"""
