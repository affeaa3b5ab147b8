"""Ratings: what results say about strength, and how sure one can be. Loads numpy and scipy.

Knows results only: no format, no runner, no file.
"""
