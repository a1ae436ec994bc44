"""An app with kinds for tests of worker processes; installed by tests.settings alone."""
