"""`simarena serve`: offers a trained policy to any tool that speaks the OpenAI chat-completions protocol."""

import asyncio
import os
import secrets
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.text import Text

from simarena.arena.specs import EngineSpec, build_engine
from simarena.arena.text import visible
from simarena.training import recipe_file
from simarena.tui.casting import DEFAULT_RECIPE, model, recipe_of
from simarena.tui.console import narrate, run
from simarena.tui.progress import tell

TOKEN = "SIMARENA_SERVE_TOKEN"


def serve(
    checkpoint: Annotated[str, typer.Argument(help="A run such as `latest`, a model folder, tiny or smollm2.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where it listens, on 127.0.0.1.")] = 8001,
    name: Annotated[str, typer.Option(help="What requests call the model.")] = "simarena",
    engine: Annotated[str | None, typer.Option(help="transformers or vllm; left out: the recipe's.")] = None,
) -> None:
    """Serve a policy as an OpenAI-compatible endpoint on this machine, until Ctrl-C.

    Requests need a token: $SIMARENA_SERVE_TOKEN, or a new one that is printed.

    Example: simarena serve latest
    """
    run(_serve(checkpoint, port, name, engine))


async def _serve(checkpoint: str, port: int, name: str, chosen: str | None) -> None:
    from simarena.tui.endpoint import (  # first: what is not installed is told before a model loads
        Endpoint,
        listening,
    )

    given = os.environ.get(TOKEN, "")
    folder = await model(checkpoint, recipe_file.load(DEFAULT_RECIPE), tell)
    recipe = recipe_of(folder) or recipe_file.load(DEFAULT_RECIPE)
    options: dict[str, JsonValue] = {**recipe.policy.options, "model": str(folder), "policy": name}
    engine = build_engine(EngineSpec(engine=chosen or recipe.policy.engine, options=options))
    token = given or secrets.token_urlsafe(24)
    async with listening(Endpoint(engine, name, token, recipe.policy.tools), port) as url:
        narrate(*_told(folder, url, name, "" if given else token))
        await asyncio.Event().wait()


def _told(folder: Path, url: str, name: str, token: str) -> list[Text]:
    """Where it is and how to reach it; a token that the person set is not repeated."""
    return [
        Text(visible(f"serving {folder}")),
        Text(visible(f"model {name} at {url}")),
        Text(f"export OPENAI_BASE_URL={url} OPENAI_API_KEY={token or f'${TOKEN}'}"),
        Text("ctrl+c ends it", "dim"),
    ]
