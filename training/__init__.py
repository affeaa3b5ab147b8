"""Whoever learns. Exactness comes first: libraries that learning loads multiply while they are loaded."""

from simarena.agents import exactness  # noqa: F401  (speaks to the matrix library, once)
