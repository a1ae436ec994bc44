"""Videos: a source goes in, an HLS ladder of qualities comes out. An app of its own, which the queue does not know."""
