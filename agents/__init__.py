"""Whoever speaks. Exactness comes first: it must be asked for before anything here is loaded."""

from simarena.agents import exactness  # noqa: F401  (speaks to the matrix library, once)
