"""An app whose handlers cannot be imported."""
