"""Exact measures: what the learners would do at every information set of a small game, and what that costs them.

A policy is asked on the very prompts it meets in play. A turn must be one token long (`rollout.limits.turn_tokens`
= 1), so that the chance of a move is the chance of a token; all other tokens are the game's forfeit. Loads torch
only where a model is asked.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from simarena.agents.policy import chat_of
from simarena.arena.errors import UsageError
from simarena.arena.protocols import ChatTurn
from simarena.arena.specs import build_scenario
from simarena.simulators.best_response import exploitability
from simarena.simulators.situations import Solvable
from simarena.training.config import Recipe
from simarena.training.evaluation import options_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class Question(NamedTuple):
    """One information set: the chat before the turn, and the words to tell apart."""

    chat: tuple[ChatTurn, ...]
    words: tuple[str, ...]


Ask = Callable[[str, Sequence[Question]], Awaitable[list[dict[str, float]]]]
"""The answers of this learner, as `first_words` gives them."""


async def measure(recipe: Recipe, ask: Ask) -> float | None:
    """Exploitability of the learners' joint strategy, in the game's own units.

    None where it is not defined: the scenario is no small game, a turn is longer than a token, or a seat is not
    played by a learner.
    """
    rules = build_scenario(recipe.scenario.name, options_of(recipe, "heldout"))
    learning = recipe.learning
    if (
        not isinstance(rules, Solvable)
        or recipe.rollout.limits.turn_tokens != 1
        or set(rules.seats) != set(learning)
    ):
        return None
    situations = rules.situations()
    strategy: dict[str, dict[str, float]] = {}
    for name, options in recipe.roster.items():
        own = {key: one for key, one in situations.items() if learning[one.seat] == name}
        tools = options.policy.tools
        questions = [Question(chat_of(one.view, one.messages, one.seat, tools), one.moves) for one in own.values()]
        for key, chances in zip(own, await ask(name, questions), strict=True):
            strategy[key] = {**chances, rules.forfeit: 1 - sum(chances.values())}
    return exploitability(rules.game, strategy)


def first_words(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast", questions: Sequence[Question]
) -> list[dict[str, float]]:
    """The probability of each word of each question as the policy's next token, at temperature 1.

    Raises UsageError for a word that is not one token.
    """
    import torch

    from simarena.agents.chat import ChatCodec

    codec = ChatCodec(tokenizer)
    prompts = [codec.prompt(question.chat).fed for question in questions]
    width = max(map(len, prompts))
    ids = torch.tensor([(*prompt, *[0] * (width - len(prompt))) for prompt in prompts], device=model.device)
    last = torch.tensor([len(prompt) - 1 for prompt in prompts], device=model.device)
    with torch.no_grad():
        logits = model(input_ids=ids).logits[torch.arange(len(prompts)), last]
    chances = logits.double().softmax(-1)
    answers = []
    for row, question in zip(chances, questions, strict=True):
        tokens = {word: codec.reply(word)[:-1] for word in question.words}
        if long := [word for word, found in tokens.items() if len(found) != 1]:
            raise UsageError(f"the policy cannot say {long[0]!r} in one token: use policy.model = 'tiny'")
        answers.append({word: float(row[found[0]]) for word, found in tokens.items()})
    return answers
