"""Tournaments: who meets whom, what came of it, and ratings one can trust.

Knows the arena; the statistics in `ratings` load numpy and scipy, so they are imported where they are used.
"""
