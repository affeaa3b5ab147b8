"""The other side of a conversation: persona users, adversaries, and the scenarios they appear in.

Imports `arena` only; a user that needs a language model is given an engine.
"""
