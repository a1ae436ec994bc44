"""The process that works: it claims, runs handlers, beats and stops when asked."""
