"""Feeds: what a screen shows of a run, as typed values, from a run folder or a live bus. Loads no textual.

Every text in these values has passed `arena.text` and is safe to show; the raw record stays where it was.
Names that end in `key` are raw: ask with them, never show them.
"""
