"""Tells people what needs their attention: which rules say so, in which words, and how they are reached."""
