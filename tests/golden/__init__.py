"""What releases stored, and that it can still be read."""
