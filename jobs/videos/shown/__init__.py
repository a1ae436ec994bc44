"""What people and programs are shown of a video's job: reads and texts, the same for pages and HTTP API."""
