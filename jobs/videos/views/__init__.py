"""What people see in a browser: the list of videos, the page of one, its files."""
