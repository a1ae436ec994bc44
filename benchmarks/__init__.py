"""Figures: what Jobyard costs, measured beside PostgreSQL's own limits."""
