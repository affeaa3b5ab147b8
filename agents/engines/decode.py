"""The running batch: many conversations through one model, a packed pass of their new tokens at a time.

Conversations come and go between passes: one that has ended makes room at once, and a new one is read in the same
passes in which the others go on. Tokens of all rows lie one after another, so no matrix product spends work on
padding. Knows no chat, no requests and no threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from transformers import PreTrainedModel

from simarena.agents.engines.kv import WORTH_SHARING, KeyStore, Slot, shared
from simarena.agents.engines.pages import Pages
from simarena.agents.engines.sampling import sample

Embed = Callable[[torch.Tensor], torch.Tensor]
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
    leader: "Row | None" = None
    """Who is reading the start that this row shares with it; until then it waits."""
    common: int = 0
    """Ids in common with the leader."""

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


class Batch:
    """The rows that are being continued, and the keys they share.

    `embed` is for a model whose ids are not all words: [tokens] ids → [tokens, hidden].
    """

    def __init__(self, model: PreTrainedModel, store: KeyStore, embed: Embed | None = None) -> None:
        self._model, self._store, self._embed = model, store, embed
        self.rows: list[Row] = []
        self.forwarded = 0
        """Tokens that went through the model."""

    def add(self, row: Row) -> None:
        """Continue this conversation from the next pass on. Its slot is held already."""
        # The keys that are its own stay, but its last id is read, for its logits.
        del row.slot.ids[min(shared(row.slot.ids, row.ids), len(row.ids) - 1) :]
        if not row.slot.ids:
            self._store.inherit(row.slot, row.ids)
            self._follow(row)
        self.rows.append(row)

    def remove(self, rows: Sequence[Row]) -> None:
        """Give their slots back; what these hold stays, for a next turn."""
        gone = {id(row) for row in rows}
        self.rows = [row for row in self.rows if id(row) not in gone]
        for row in rows:
            row.slot.held = False
        for row in self.rows:
            if row.leader is not None and id(row.leader) in gone:
                row.leader = None

    @torch.inference_mode()
    def step(self) -> list[Row]:
        """One pass over every row that waits for nobody; returns those that have ended, removed."""
        self.forwarded += _pass(
            self._model, self._store, self._embed, [row for row in self.rows if row.leader is None]
        )
        for row in self.rows:
            if row.leader is not None and len(row.leader.slot.ids) >= row.common:
                self._store.copy(row.leader.slot, row.slot, row.ids, row.common)
                row.leader = None
        ended = [row for row in self.rows if row.done]
        self.remove(ended)
        return ended

    def _follow(self, row: Row) -> None:
        """Let another row read what both begin with, such as the prompt of a group."""
        most = len(row.slot.ids) + WORTH_SHARING - 1
        for other in self.rows:
            # One that will copy nearly all of its own prompt has nothing to offer that its leader has not.
            if other.unread > 1 and not (other.leader and other.common >= len(other.ids) - WORTH_SHARING):
                common = min(shared(other.ids, row.ids), len(row.ids) - 1)
                if common > most:
                    row.leader, row.common, most = other, common, common


def _pass(model: PreTrainedModel, store: KeyStore, embed: Embed | None, rows: Sequence[Row]) -> int:
    """Read the next tokens of these rows, and sample for those that have read all. Returns how many tokens."""
    rows = sorted(rows, key=lambda row: row.slot.index)
    starts = [len(row.slot.ids) for row in rows]
    chunks = [row.ids[start : start + CHUNK] for row, start in zip(rows, starts, strict=True)]
    pages = Pages(store, [row.slot.index for row in rows], starts, [len(chunk) for chunk in chunks])
    packed = [token for chunk in chunks for token in chunk]
    last = torch.tensor([len(chunk) for chunk in chunks]).cumsum(0) - 1
    ready = [place for place, row in enumerate(rows) if row.unread == len(chunks[place])]
    logits = _forward(model, pages, embed, packed, last[ready])
    for row, chunk in zip(rows, chunks, strict=True):
        row.slot.ids += chunk  # only now: a pass that failed has stored nothing one may rely on
    if ready:
        _sample(logits, [rows[place] for place in ready])
    return len(packed)


def _forward(
    model: PreTrainedModel, pages: Pages, embed: Embed | None, packed: list[int], keep: torch.Tensor
) -> torch.Tensor:
    """Logits [len(keep) or more, words] after the packed tokens at the places `keep`."""
    extra = -len(packed) % ROWS
    device = pages.positions.device
    ids = torch.tensor([*packed, *[0] * extra], device=device)
    positions = torch.cat([pages.positions, pages.positions.new_zeros(extra)])
    kept = torch.cat([keep, keep.new_zeros(-len(keep) % ROWS if len(keep) else ROWS)]).to(device)
    read = {"input_ids": ids[None]} if embed is None else {"inputs_embeds": embed(ids)[None]}
    output = model(**read, position_ids=positions[None], use_cache=False, logits_to_keep=kept, paged=pages)
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
