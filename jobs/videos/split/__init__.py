"""One long video encoded by several workers: its chunks are jobs of their own. No ORM here, as in transcoding."""
