"""Eyes of the transformers engine: from picture files to what a vision-language model reads in their place.

Each picture stands in a prompt as a fixed number of equal ids. Inside the engine they are replaced by negative
ones that name the picture, so that keys are never shared between prompts that differ in a picture alone. Serves
models of LLaVA's layout (arXiv 2304.08485): picture features take the places of those ids. Knows no chat and no
batch.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from transformers import AutoImageProcessor, PreTrainedModel

from simarena.arena import pictures
from simarena.arena.errors import AgentFault, MissingExtra, UsageError
from simarena.arena.messages import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


class Eyes:
    """What a model sees with. Raises UsageError for a model of another layout."""

    def __init__(self, model: PreTrainedModel, folder: Path) -> None:
        if not hasattr(model.config, "image_token_id") or not hasattr(model.model, "multi_modal_projector"):
            raise UsageError(f"the transformers engine cannot serve {type(model).__name__}: it sees unlike LLaVA")
        self.token: int = model.config.image_token_id
        """The id that stands for a piece of a picture."""
        self._model = model
        try:
            self._processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the image processor in {str(folder)!r}: {error}") from None
        self._seen: dict[str, int] = {}
        self._features: list[Tensor] = []
        self.count = len(self._look(_pillow().new("RGB", (32, 32))))
        """Ids that each picture takes."""

    def name(self, ids: Sequence[int], images: Sequence[Image]) -> list[int]:
        """The ids with every picture's own negative ones in the places of its token.

        Raises RecordError for a picture that cannot be found, AgentFault for one that cannot be read.
        """
        numbers = [number for image in images for number in self._numbers(image)]
        places = [place for place, one in enumerate(ids) if one == self.token]
        if len(places) != len(numbers):
            raise AgentFault(f"{len(images)} pictures fill {len(numbers)} places, the prompt has {len(places)}")
        named = list(ids)
        for place, number in zip(places, numbers, strict=True):
            named[place] = number
        return named

    def embed(self, ids: Tensor) -> Tensor:
        """[tokens] ids, some of them negative → [tokens, hidden]."""
        embedded: Tensor = self._model.get_input_embeddings()(ids.clamp(min=0))
        seen = ids < 0
        if seen.any():
            table = torch.cat(self._features)
            embedded = embedded.clone()
            embedded[seen] = table[-ids[seen] - 1]
        return embedded

    def forget(self) -> None:
        """Look anew at every picture, as after new weights."""
        self._seen.clear()
        self._features.clear()

    def _numbers(self, image: Image) -> range:
        """-1, -2, … for the pieces of the first picture seen, and so on."""
        if image.sha256 not in self._seen:
            features = self._look(_opened(image))
            self._seen[image.sha256] = len(self._features)
            self._features.append(features)
        first = self._seen[image.sha256] * self.count + 1
        return range(-first, -first - self.count, -1)

    @torch.inference_mode()
    def _look(self, picture: "Picture") -> Tensor:
        pixels = self._processor(images=[picture], return_tensors="pt")["pixel_values"]
        found = self._model.get_image_features(pixel_values=pixels.to(self._model.device, self._model.dtype))
        (features,) = found.pooler_output
        assert isinstance(features, Tensor)
        return features


def _opened(image: Image) -> "Picture":
    try:
        return cast("Picture", _pillow().open(io.BytesIO(pictures.load(image))).convert("RGB"))
    except OSError:
        raise AgentFault(f"picture {image.sha256[:12]} is not one that can be read ({image.mime})") from None


def _pillow() -> Any:
    try:
        import PIL.Image
    except ModuleNotFoundError:
        raise MissingExtra("pillow", "pip install 'simarena[vision]'") from None
    return PIL.Image
