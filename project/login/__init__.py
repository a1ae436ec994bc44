"""Log-ins with a limit: whoever guesses passwords has to wait. docs/security.md tells what it counts, and why."""
