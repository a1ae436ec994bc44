"""Tests with a real browser: what people see, and whether it plays."""
