"""How a video becomes an HLS ladder: files in, files out. No ORM here, so that a remote worker needs no database."""
