"""Dispatch over Redis: hints for workers, and live progress. What is lost costs time only: jobs are in the database.

Redis is imported when it is first used, and it is used where JOBS_DISPATCH is `redis` or `hybrid` only.
"""
