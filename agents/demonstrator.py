"""The demonstrator: plays another agent's actions, and records them as the tokens a policy would have sampled.

So a demonstration is an ordinary episode, and cloning reads it like any other. Knows no training.
"""

from pathlib import Path
from typing import Any

from simarena.agents import models
from simarena.agents.chat import ChatCodec
from simarena.agents.policy import ToolText, chat_of, reply_text
from simarena.arena.messages import Action, Observation
from simarena.arena.specs import AgentSpec, build_agent
from simarena.arena.tokens import TurnRecord

POLICY = "demonstrator"


class Demonstrator:
    """Acts as `teacher` does; the records are in the tokens of the model in folder `model`, with log-probs 0.

    `tools` says how the prompt lists the tools, as for the policy agent.
    """

    def __init__(
        self, teacher: str, model: str, options: dict[str, Any] | None = None, tools: ToolText = "none"
    ) -> None:
        self._teacher = build_agent(AgentSpec(agent=teacher, options=options or {}))
        self._tools: ToolText = tools
        self._codec = ChatCodec(models.load_tokenizer(Path(model)))

    async def act(self, observation: Observation) -> Action:
        action = await self._teacher.act(observation)
        chat = chat_of(observation.view, observation.messages, observation.seat, self._tools)
        prompt = self._codec.prompt(chat, observation.trail)
        sampled = self._codec.reply(reply_text(action, observation.view.tools))
        record = TurnRecord(
            policy=POLICY,
            version=0,
            start=prompt.start,
            fed=prompt.fed,
            sampled=sampled,
            logprobs=(0.0,) * len(sampled),
            finish="stop",
        )
        return action.model_copy(update={"record": record})
