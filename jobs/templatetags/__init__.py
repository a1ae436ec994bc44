"""What the templates of the admin's pages use."""
