"""Every operation of LangGraph's checkpointer contract, once, as procedures.

The layout is chained heads. One document per `put`, the head; one per `put_writes` call;
one descending query per `get_tuple`. A head holds what its step changed and leans on its
parent for the rest, and the ancestors a reader needs lie directly below it in sort order.

What always holds:

1. A head becomes visible after everything it needs: parts and ancestors come first.
2. A head leans on its parent's id *and* the tag of what was stored there. A list may be
   missing; it is never wrong.
3. Before a checkpoint is deleted, every head that leans on it is made whole.
4. A document is replaced only by equal content, or with the replaced head kept beside it.
5. What this process remembers decides the size of what it writes, never the content.
"""
