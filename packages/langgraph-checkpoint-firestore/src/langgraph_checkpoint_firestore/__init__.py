"""LangGraph checkpoints in Google Firestore."""

from langgraph_checkpoint_firestore.saver import FirestoreSaver

__all__ = ["FirestoreSaver"]
