"""Tests of the web server: the real gunicorn, with the configuration that is shipped."""
