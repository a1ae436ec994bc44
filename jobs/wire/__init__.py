"""What passes between a remote worker and the server: JSON, and the values that both sides know already. No ORM."""
