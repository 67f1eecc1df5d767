"""The contract as test kits: inherit a class, give it one fixture, run pytest."""
