"""The decode loop: many conversations through one model, a packed batch of their new tokens at a time.

Tokens of all rows lie one after another, so no matrix product spends work on padding. Knows no chat, no
requests and no threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from transformers import PreTrainedModel

from simarena.agents.engines.kv import WORTH_SHARING, KeyStore, Slot, shared
from simarena.agents.engines.pages import Pages
from simarena.agents.engines.sampling import sample

ROWS = 8
"""Tokens of a pass are padded to a multiple of this: with fewer than 4 rows, a product takes another path."""
CHUNK = 32
"""Tokens that one row may add to a pass."""


@dataclass(slots=True)
class Row:
    """One conversation being continued."""

    ids: list[int]
    """All ids so far; those beyond the slot's are not yet read."""
    slot: Slot
    stops: frozenset[int]
    temperature: float
    uniforms: list[float]
    """One per id to sample: their number is the most that may be sampled."""
    sampled: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def unread(self) -> int:
        return len(self.ids) - len(self.slot.ids)

    @property
    def done(self) -> bool:
        return len(self.sampled) == len(self.uniforms) or bool(self.sampled and self.sampled[-1] in self.stops)

    def add(self, token: int, logprob: float) -> None:
        self.ids.append(token)
        self.sampled.append(token)
        self.logprobs.append(logprob)


@torch.inference_mode()
def decode(model: PreTrainedModel, store: KeyStore, rows: Sequence[Row]) -> int:
    """Sample every row to its end. Returns how many tokens went through the model."""
    for row in rows:
        _forget_other_ids(row)
    tokens = _share(model, store, [row for row in rows if not row.slot.ids])
    while active := [row for row in rows if not row.done]:
        reading = [row for row in active if row.unread > 1]
        tokens += _pass(model, store, reading or active)
    return tokens


def _forget_other_ids(row: Row) -> None:
    """Keep the stored keys that are this conversation's, but leave its last id to be read, for its logits."""
    del row.slot.ids[min(shared(row.slot.ids, row.ids), len(row.ids) - 1) :]


def _share(model: PreTrainedModel, store: KeyStore, fresh: Sequence[Row]) -> int:
    """Read once what new conversations have in common with others or among themselves."""
    for row in fresh:
        store.inherit(row.slot, row.ids)
    fresh = [row for row in fresh if not row.slot.ids]
    common = shared(fresh[0].ids, fresh[1].ids) if len(fresh) > 1 else 0
    if common < WORTH_SHARING:
        return 0
    leader, tokens = fresh[0], 0
    while len(leader.slot.ids) < common and leader.unread > 1:
        tokens += _pass(model, store, [leader])
    for row in fresh[1:]:
        store.inherit(row.slot, row.ids)
    return tokens


def _pass(model: PreTrainedModel, store: KeyStore, rows: Sequence[Row]) -> int:
    rows = sorted(rows, key=lambda row: row.slot.index)
    starts = [len(row.slot.ids) for row in rows]
    chunks = [row.ids[start : start + CHUNK] for row, start in zip(rows, starts, strict=True)]
    pages = Pages(store, [row.slot.index for row in rows], starts, [len(chunk) for chunk in chunks])
    packed = [token for chunk in chunks for token in chunk]
    last = torch.tensor([len(chunk) for chunk in chunks]).cumsum(0) - 1
    ready = [place for place, row in enumerate(rows) if row.unread == len(chunks[place])]
    logits = _forward(model, pages, packed, last[ready])
    for row, chunk in zip(rows, chunks, strict=True):
        row.slot.ids += chunk  # only now: a pass that failed has stored nothing one may rely on
    if ready:
        _sample(logits, [rows[place] for place in ready])
    return len(packed)


def _forward(model: PreTrainedModel, pages: Pages, packed: list[int], keep: torch.Tensor) -> torch.Tensor:
    """Logits [len(keep) or more, words] after the packed tokens at the places `keep`."""
    extra = -len(packed) % ROWS
    device = pages.positions.device
    ids = torch.tensor([*packed, *[0] * extra], device=device)
    positions = torch.cat([pages.positions, pages.positions.new_zeros(extra)])
    kept = torch.cat([keep, keep.new_zeros(-len(keep) % ROWS if len(keep) else ROWS)]).to(device)
    output = model(
        input_ids=ids[None], position_ids=positions[None], use_cache=False, logits_to_keep=kept, paged=pages
    )
    logits: torch.Tensor = output.logits[0]
    return logits


def _sample(logits: torch.Tensor, rows: Sequence[Row]) -> None:
    extra = len(logits) - len(rows)
    temperature = [*(row.temperature for row in rows), *[1.0] * extra]
    uniform = [*(row.uniforms[len(row.sampled)] for row in rows), *[0.0] * extra]
    ids, logprobs = sample(
        logits,
        torch.tensor(temperature, dtype=torch.float32, device=logits.device),
        torch.tensor(uniform, dtype=torch.float64, device=logits.device),
    )
    for row, token, logprob in zip(rows, ids.tolist(), logprobs.tolist(), strict=False):
        row.add(token, logprob)
