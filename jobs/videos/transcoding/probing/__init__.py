"""What happens inside the probe's child process. Standard library and PyAV only, so that the child starts quickly."""
