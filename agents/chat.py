"""Chat ↔ token ids through a model's own chat template, with token continuity across turns.

Two rules. Bodies are data: nothing said in a message becomes a control id, whatever it spells. What was sampled
is never tokenised again: the next prompt appends to the trail, or says that it cannot (a prefix break).
Knows no model weights and no tool syntax.
"""

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from jinja2 import TemplateError
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from simarena.arena.errors import UsageError
from simarena.arena.protocols import ChatTurn
from simarena.arena.tokens import Trail

Ids = tuple[int, ...]
_THINK, _THOUGHT = "<think>", "</think>"
_PRIVATE = (*range(0xE000, 0xF900), *range(0xF0000, 0xFFFFE))
"""Unicode's private-use code points: some that occur in no body serve as marks while rendering."""
_PROBE = (ChatTurn("user", "one two"), ChatTurn("assistant", "three"), ChatTurn("user", "four, five"))


@dataclass(frozen=True, slots=True)
class Prompt:
    """The ids to read before sampling the next reply."""

    fed: Ids
    start: bool
    """True: `fed` is a whole prompt. False: it extends the trail after its last id."""


class ChatCodec:
    """Encodes chats and decodes replies for one tokenizer.

    `eos` holds the ids at which the model's generation config says to stop; `picture` is the id that stands for a
    piece of a picture, and how many pieces one has, for a model that sees. Raises UsageError if there is no
    chat template, or it marks no end of turn, or its control tokens cannot be told apart from text.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, eos: Iterable[int] = (), picture: tuple[int, int] | None = None
    ) -> None:
        if not tokenizer.chat_template:
            raise UsageError(
                f"the tokenizer of {tokenizer.name_or_path!r} has no chat template: use an instruct model, or put "
                f"a `chat_template.jinja` into the model folder"
            )
        self._tokenizer = tokenizer
        self._picture: Ids = () if picture is None else picture[:1] * picture[1]
        self._control = {
            token.content: place
            for place, token in tokenizer.added_tokens_decoder.items()
            if _is_control(token.content)
        }
        markers = "|".join(re.escape(text) for text in sorted(self._control, key=len, reverse=True)) or r"(?!)"
        self._markers = re.compile(f"({markers})")
        self._openings = re.compile(f"(?={markers})(.)", re.DOTALL)
        self._plain: Callable[[str], Ids] = functools.lru_cache(maxsize=8192)(self._text_encoder())
        self._end_marker = self._end_of_turn()
        self.end = self._control[self._end_marker]
        """The id that ends a turn in the template."""
        eos_id = tokenizer.eos_token_id
        self.stops = frozenset((self.end, *eos, *(() if eos_id is None else (eos_id,))))
        """Ids that end a reply when sampled."""
        self._check_exact()

    def prompt(self, chat: Sequence[ChatTurn], trail: Trail | None = None) -> Prompt:
        """What to read before the next assistant turn.

        Raises UsageError if the template refuses this chat, or it has pictures and the model has no eyes.
        """
        if not self._picture and any(turn.images for turn in chat):
            raise UsageError(
                f"this chat has pictures, and {self._tokenizer.name_or_path!r} is a model of text alone: use a "
                "vision-language model, or leave them out"
            )
        marks = _unused(turn.content for turn in chat)
        veil, _, picture = marks
        # One mark inside each control marker that a body spells hides it from the template and from the split.
        veiled = [
            replace(turn, content=picture * len(turn.images) + self._openings.sub(rf"\1{veil}", turn.content))
            for turn in chat
        ]
        text = self._render(veiled)
        fed = None if trail is None else self._extension(veiled, text, trail.ids, marks)
        return Prompt(self._encode(text, marks), start=True) if fed is None else Prompt(fed, start=False)

    def reply(self, text: str) -> Ids:
        """The ids of an assistant turn that says this text, its end among them, as cloning trains on it."""
        return (*self._plain(text), self.end)

    def read(self, ids: Sequence[int]) -> tuple[str, str]:
        """(what was said, what was thought) of sampled ids; control ids leave no text."""
        silent = {place for text, place in self._control.items() if text not in (_THINK, _THOUGHT)}
        kept = [place for place in ids if place not in silent]
        text: str = self._tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        thought, closed, said = text.partition(_THOUGHT)
        if not closed:
            return text.strip(), ""
        return said.strip(), thought.replace(_THINK, "", 1).strip()

    def _extension(self, chat: Sequence[ChatTurn], text: str, ids: Ids, marks: "_Marks") -> Ids | None:
        """What to append to the trail so that it stands for `text`; None if the template rewrote what it holds.

        Own replies are cut out of the render. What is left must weave back into `text` around them, and must
        be found in the trail around the sampled ids.
        """
        slot = marks.slot
        own = [turn.content for turn in chat if turn.role == "assistant"]
        blank = [replace(turn, content=slot) if turn.role == "assistant" else turn for turn in chat]
        head, *tails = self._render(blank).split(slot)
        woven = head + "".join(itertools.chain.from_iterable(zip(own, tails, strict=False)))
        if not own or len(tails) != len(own) or woven != text:
            return None
        cursor = 0
        for part in (head, *(self._after_end(tail) for tail in tails[:-1])):
            between = self._encode(part, marks)
            if ids[cursor : cursor + len(between)] != between:
                return None
            cursor = self._reply_end(ids, cursor + len(between))
        if cursor != len(ids):
            return None
        closed = ids[-1] in self.stops
        return self._encode(self._after_end(tails[-1]) if closed else tails[-1], marks)

    def _reply_end(self, ids: Ids, start: int) -> int:
        """Where the reply that starts here ends: after its stop id, or with the trail if it was cut off."""
        return next((place + 1 for place in range(start, len(ids)) if ids[place] in self.stops), len(ids))

    def _after_end(self, text: str) -> str:
        return text.partition(self._end_marker)[2]

    def _render(self, chat: Sequence[ChatTurn], reply_next: bool = True) -> str:
        turns = [{"role": turn.role, "content": turn.content} for turn in chat]
        try:
            text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=reply_next)
        except TemplateError as error:
            roles = ", ".join(turn.role for turn in chat)
            raise UsageError(f"the chat template refuses turns of roles {roles}: {error}") from None
        return str(text)

    def _encode(self, text: str, marks: "_Marks") -> Ids:
        """The ids of a rendered text: its markers as control ids, everything between them as plain text."""
        ids: list[int] = []
        for place, piece in enumerate(self._markers.split(text)):
            if place % 2:
                ids.append(self._control[piece])
                continue
            for number, plain in enumerate(piece.replace(marks.veil, "").split(marks.picture)):
                ids += (*self._picture, *self._plain(plain)) if number else self._plain(plain)
        return tuple(ids)

    def _text_encoder(self) -> Callable[[str], Ids]:
        """Encodes text with a copy of the tokenizer that knows no control token at all."""
        state = json.loads(self._tokenizer.backend_tokenizer.to_str())
        state["added_tokens"] = [token for token in state["added_tokens"] if not _is_control(token["content"])]
        state["post_processor"] = state["truncation"] = state["padding"] = None
        plain = Tokenizer.from_str(json.dumps(state))
        tokenizer = self._tokenizer
        structural = {tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id}
        unknown = {tokenizer.unk_token_id} - structural  # stands for a word the vocabulary lacks: plain text
        control = frozenset(self._control.values()) - unknown

        def encode(text: str) -> Ids:
            ids = plain.encode(text, add_special_tokens=False).ids if text else ()
            return tuple(place for place in ids if place not in control)

        return encode

    def _end_of_turn(self) -> str:
        """The first control marker that the template writes after an assistant turn."""
        slot = _unused(()).slot
        said = self._render((_PROBE[0], ChatTurn("assistant", slot)), reply_next=False)
        match = self._markers.search(said.partition(slot)[2])
        if match is None:
            raise UsageError(
                "the chat template writes no control token after an assistant turn: add one that ends it"
            )
        return match[0]

    def _check_exact(self) -> None:
        turns = [{"role": turn.role, "content": turn.content} for turn in _PROBE]
        theirs = self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False)
        ours = self.prompt(_PROBE).fed
        if tuple(theirs) != ours:
            raise UsageError(
                f"the tokenizer of {self._tokenizer.name_or_path!r} encodes text differently next to its control "
                f"tokens ({list(theirs)} against {list(ours)}): this family is not supported"
            )


def _is_control(text: str) -> bool:
    """Whether an added token stands for structure: all do, but single signs and runs of blanks."""
    return len(text.strip()) > 1


class _Marks(NamedTuple):
    """Characters that occur in no body of a chat, to write into it while it is rendered."""

    veil: str
    """Keeps a control marker that a body spells from being one."""
    slot: str
    """Stands for a reply."""
    picture: str


def _unused(bodies: Iterable[str]) -> _Marks:
    """Marks that occur in none of these texts. Raises UsageError if those set aside for it all do."""
    taken = set().union(*map(set, bodies))
    free = [chr(point) for point in itertools.islice((p for p in _PRIVATE if chr(p) not in taken), 3)]
    if len(free) < 3:
        raise UsageError("this chat uses up all of Unicode's private-use characters: it cannot be rendered safely")
    return _Marks(*free)
