"""Real databases for the tests, each in a process and a folder of its own."""
