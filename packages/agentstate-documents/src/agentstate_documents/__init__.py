"""Agent state in document tables: the port a database implements, and what is built on it.

The savers and persistences live in modules of their own, so that this import stays light:
`agentstate_documents.saver` (LangGraph) needs the extra `langgraph`.
"""

from agentstate_documents.errors import (
    DocumentConflict,
    DocumentError,
    DocumentTooLarge,
    StoredFormatUnknown,
    TableUnavailable,
)
from agentstate_documents.model import Document, Limits, Page, Write
from agentstate_documents.port import AsyncDocumentTable, DocumentTable
from agentstate_documents.tables.memory import MemoryTable

__all__ = [
    "AsyncDocumentTable",
    "Document",
    "DocumentConflict",
    "DocumentError",
    "DocumentTable",
    "DocumentTooLarge",
    "Limits",
    "MemoryTable",
    "Page",
    "StoredFormatUnknown",
    "TableUnavailable",
    "Write",
]
