"""k + k steps with a save and a load between equal 2k steps, bit for bit; files are plain and loadable."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from rollouts import ADAPTER, BATCH, VOCAB, learner, llama
from safetensors import SafetensorError
from safetensors.numpy import load_file

from simarena.arena.errors import RunFolderError
from simarena.training import checkpoints
from simarena.training.config import Lora, OptimiserOptions
from simarena.training.learner import Learner
from simarena.training.losses.grpo import GRPOOptions


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocab = {f"w{i}": i for i in range(VOCAB)}
    words = Tokenizer(models.WordLevel(vocab, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w2", pad_token="w2")


@pytest.mark.parametrize("loss", [GRPOOptions(), GRPOOptions(kl_beta=0.05, entropy=0.01)])
@pytest.mark.parametrize("adapter", [None, ADAPTER])
def test_resume_is_a_continuation(adapter: Lora | None, loss: GRPOOptions, tmp_path: Path, tokenizer: Any) -> None:
    straight = learner(adapter=adapter, loss=loss, warmup=4, weight_decay=0.01)
    wanted = [straight.update(BATCH) for _ in range(6)]
    first = learner(adapter=adapter, loss=loss, warmup=4, weight_decay=0.01)
    got = [first.update(BATCH) for _ in range(3)]
    checkpoints.save(tmp_path, first, tokenizer)
    second = learner(adapter=adapter, loss=loss, warmup=4, weight_decay=0.01)
    checkpoints.load(tmp_path, second)
    assert second.version == 3
    got += [second.update(BATCH) for _ in range(3)]
    assert got == wanted
    for name, array in straight.weights().items():
        assert (second.weights()[name] == array).all(), name


@pytest.mark.parametrize("adapter", [None, ADAPTER])
def test_a_snapshot_speaks_as_the_learner_did_and_is_adapters_alone(adapter: Lora | None, tmp_path: Path) -> None:
    subject, file = learner(adapter=adapter, lr=1e-2), tmp_path / "snapshots" / "one.safetensors"
    subject.update(BATCH)
    then = subject.weights()
    checkpoints.save_snapshot(file, subject)
    assert sum(array.size for array in load_file(file).values()) == sum(
        w.numel() for w in subject.trained.values()
    )
    subject.update(BATCH)
    now = subject.weights()
    found = checkpoints.snapshot(file, subject)
    assert all((found[name] == array).all() for name, array in then.items() if name in found)
    assert then.keys() - found.keys() <= {"lm_head.weight", "model.embed_tokens.weight"}
    assert all((array == now[name]).all() for name, array in subject.weights().items())
    assert not all((array == then[name]).all() for name, array in now.items())
    file.write_bytes(b"torn")
    with pytest.raises(RunFolderError, match="cannot be read"):
        checkpoints.snapshot(file, subject)


def test_a_reference_that_moves_is_resumed_where_it_was(tmp_path: Path, tokenizer: Any) -> None:
    def fresh() -> Learner:
        return Learner(llama(), GRPOOptions(kl_beta=0.5), OptimiserOptions(lr=1e-2), reference_every=2)

    straight = fresh()
    wanted = [straight.update(BATCH)["kl/reference"] for _ in range(6)]
    assert [kl == pytest.approx(0.0, abs=1e-6) for kl in wanted] == [True, False] * 3
    first = fresh()
    got = [first.update(BATCH)["kl/reference"] for _ in range(3)]
    checkpoints.save(tmp_path, first, tokenizer)
    second = fresh()
    checkpoints.load(tmp_path, second)
    got += [second.update(BATCH)["kl/reference"] for _ in range(3)]
    assert got == wanted


@pytest.mark.parametrize("adapter", [None, ADAPTER])
def test_loads_with_the_auto_classes(adapter: Lora | None, tmp_path: Path, tokenizer: Any) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    subject = learner(adapter=adapter, lr=1e-2)
    subject.update(BATCH)
    checkpoints.save(tmp_path, subject, tokenizer)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert model.dtype == torch.float32
    for name, array in subject.weights().items():
        assert (model.state_dict()[name].numpy() == array).all(), name
    assert AutoTokenizer.from_pretrained(tmp_path)("w3 w4").input_ids == [3, 4]


def test_files_are_safetensors_and_json(tmp_path: Path, tokenizer: Any) -> None:
    subject = learner(adapter=ADAPTER)
    subject.update(BATCH)
    checkpoints.save(tmp_path, subject, tokenizer)
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes <= {".json", ".safetensors", ".jinja"}
    assert json.loads((tmp_path / "trainer/state.json").read_text())["version"] == 1


def test_a_checkpoint_before_the_first_step_can_be_resumed(tmp_path: Path, tokenizer: Any) -> None:
    checkpoints.save(tmp_path, learner(), tokenizer)
    fresh, resumed = learner(), learner(seed=3)
    checkpoints.load(tmp_path, resumed)
    assert fresh.update(BATCH) == resumed.update(BATCH)


def test_what_does_not_fit_is_refused(tmp_path: Path, tokenizer: Any) -> None:
    full, low_rank = tmp_path / "full", tmp_path / "lora"
    for folder, adapter in ((full, None), (low_rank, ADAPTER)):
        checkpoints.save(folder, learner(adapter=adapter), tokenizer)
    with pytest.raises(RunFolderError, match="cannot be resumed"):
        checkpoints.load(full, learner(adapter=ADAPTER))
    with pytest.raises(RunFolderError, match=r"policy\.lora"):
        checkpoints.load(low_rank, learner())
    with pytest.raises(RunFolderError, match="another model"):
        checkpoints.load(low_rank, learner(seed=9, adapter=ADAPTER))
    with pytest.raises(RunFolderError, match="cannot be resumed"):
        checkpoints.load(tmp_path / "nowhere", learner())
    (low_rank / "trainer/optimiser.safetensors").write_bytes(b"torn")
    with pytest.raises(RunFolderError, match="cannot be resumed"):
        checkpoints.load(low_rank, learner(adapter=ADAPTER))
    (full / "trainer/state.json").write_text("{")
    with pytest.raises(RunFolderError, match="cannot be resumed"):
        checkpoints.load(full, learner())


def test_a_disk_that_fills_up_is_said(tmp_path: Path, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(RunFolderError, match=r"cannot write checkpoint .*No space left"):
        checkpoints.save(tmp_path, learner(), tokenizer)


def test_saving_leaves_the_learner_as_it_was(tmp_path: Path, tokenizer: Any) -> None:
    saved, other = learner(adapter=ADAPTER), learner(adapter=ADAPTER)
    checkpoints.save(tmp_path, saved, tokenizer)
    assert saved.update(BATCH) == other.update(BATCH)
    assert llama().config.vocab_size == VOCAB
