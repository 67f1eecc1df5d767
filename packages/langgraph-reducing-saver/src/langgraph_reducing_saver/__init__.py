"""Keeps LangGraph threads bounded where they are stored."""
