"""Keeps the message history of AI agents bounded, and never breaks a conversation."""
