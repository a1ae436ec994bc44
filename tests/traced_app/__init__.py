"""An app that sets up OpenTelemetry as a project would: spans go, one JSON a line, into the file that TRACES names."""
