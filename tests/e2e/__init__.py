"""One story for every framework and every database."""
