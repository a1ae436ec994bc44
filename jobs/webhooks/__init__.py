"""Calls other people's servers, carefully: who may be called, for how long, signed how. No database here.

What is to be sent is written by `jobs.lifecycle.announce`, in the transaction that made it true.
"""
