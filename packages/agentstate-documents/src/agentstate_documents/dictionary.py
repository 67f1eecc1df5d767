"""The preset dictionary of codec 1: what LangGraph writes around values, likeliest last.

Rule: part of the stored format. It never changes; a better one is another codec.
"""

DICTIONARY = b""
