"""An app that only the newer release has."""
