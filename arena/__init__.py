"""The world everyone shares: messages, episodes, the contracts between rooms, the bus and the conductor.

Imports nothing of ours and, at import time, none of torch, ray, redis, transformers, vllm or textual.
"""
