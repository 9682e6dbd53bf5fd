"""Loading and saving GPT-2 in the hub's format: config.json and model.safetensors in a folder.

The file has other names than our layers: ``c_attn`` contains the matrices of queries, keys and
values side by side, and every ``c_`` matrix is transposed, (in, out), as in the Conv1D layer of
the first GPT's code. Only safetensors and JSON are opened, and nothing is unpickled.

Source: github.com/openai/gpt-2, src/model.py, for the names.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import safetensors
import safetensors.torch
import torch
from tokenizers import Tokenizer
from torch import Tensor

from course_utils.data.gpt2_files import find_gpt2
from course_utils.data.model_folder import model_folder, read_json
from course_utils.files import write_whole
from course_utils.models.generation import generate
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.models.plain import check_plain
from course_utils.models.skeleton import shapes_alone

__all__ = [
    "GPT2NotFoundError",
    "GPT2RefusedError",
    "PublishedGPT2",
    "load_gpt2",
    "load_published_gpt2",
    "save_gpt2",
]

CONFIG, WEIGHTS = "config.json", "model.safetensors"
PREFIX = "transformer."  # before each name, in files of the model with its output layer
END_OF_TEXT = 50256

_SIZES = {
    "vocab_size": "vocab_size",
    "max_positions": "n_positions",
    "width": "n_embd",
    "num_layers": "n_layer",
    "num_heads": "n_head",
}
# Other fields of a config, and the values that mean our GPT-2; the first is the default.
_FIXED = {
    "model_type": ("gpt2",),
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),  # two names for one formula
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}
_OUTSIDE = {"wte": "tokens", "wpe": "positions", "ln_f": "norm"}
_IN_BLOCK = {
    "ln_1": ("attention_norm",),
    "attn.c_attn": ("attention.query", "attention.key", "attention.value"),
    "attn.c_proj": ("attention.output",),
    "ln_2": ("feedforward_norm",),
    "mlp.c_fc": ("feedforward.expand",),
    "mlp.c_proj": ("feedforward.contract",),
}


class GPT2NotFoundError(FileNotFoundError):
    """The folder does not contain the files of a GPT-2."""


class GPT2RefusedError(ValueError):
    """A file does not contain a GPT-2, or not the one that config.json describes."""


def load_gpt2(path: str | Path) -> GPT2:
    """Load a GPT-2 from a folder. Its weights become float32.

    Args:
        path: a folder with config.json and model.safetensors, as ``save_gpt2`` and the
            ``save_pretrained`` of ``transformers`` write it.

    Raises:
        GPT2NotFoundError, GPT2RefusedError: if a file is missing, or is not that of a GPT-2.
    """
    folder = model_folder(path, (CONFIG, WEIGHTS), GPT2NotFoundError)
    config = _config_from_hub(read_json(folder / CONFIG, GPT2RefusedError))
    tensors = _read_tensors(folder / WEIGHTS)
    _check_size(config, folder / WEIGHTS)
    with shapes_alone():
        model = GPT2(config)
    prefix = PREFIX if any(name.startswith(PREFIX) for name in tensors) else ""
    _drop_copies(tensors, prefix, config)
    expected = _to_hub(model.state_dict(), config)
    _check_tensors(tensors, {prefix + name: tensor for name, tensor in expected.items()})
    named = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    model.load_state_dict(_from_hub(named, config), assign=True)
    return model


def save_gpt2(model: GPT2, path: str | Path) -> None:
    """Save a GPT-2 to a folder, for ``load_gpt2`` and ``transformers``.

    Both files are written beside those of a checkpoint that is there, and then take their place: a
    model that cannot be saved leaves it as it was.

    Args:
        model: a GPT-2 whose query heads do not share keys and values.
        path: the folder, created if necessary.

    Raises:
        TypeError, ValueError: if it is not a GPT-2 with the layers and sizes of its config, as one
            that is compiled or adapted with LoRA; or if query heads share keys and values: the
            format cannot express it.

    >>> import tempfile
    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_gpt2(model, folder)
    ...     again = load_gpt2(folder)
    >>> torch.equal(again.tokens.weight, model.tokens.weight)
    True
    """
    check_plain(model)
    if (shared := model.config.num_kv_heads) is not None:
        raise ValueError(f"model must have num_kv_heads=None, got num_kv_heads={shared}")
    described = _config_to_hub(model.config, model.tokens.weight.dtype)
    _config_from_hub(described)  # refuses what could not be loaded
    config = (json.dumps(described, indent=2) + "\n").encode()
    tensors = _to_hub(model.state_dict(), model.config)
    named = {PREFIX + name: tensor for name, tensor in tensors.items()}
    weights = safetensors.torch.save(named, metadata={"format": "pt"})
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)

    def weights_first() -> bool:
        write_whole(folder / WEIGHTS, weights)
        return False

    # Asked when the config is written beside its place: a full disk leaves both files as they were.
    write_whole(folder / CONFIG, config, unless=weights_first)


class PublishedGPT2(NamedTuple):
    """The published GPT-2 with 124,439,808 parameters, in evaluation mode, and its tokenizer.

    Attributes:
        model: scores the next token.
        tokenizer: splits a text into tokens; there are 50,257.
    """

    model: GPT2
    tokenizer: Tokenizer

    def write(self, prompt: str, max_new_tokens: int, *, seed: int = 0) -> str:
        """Return the prompt and its continuation, drawn among the 40 most probable tokens.

        Raises:
            ValueError: if the prompt is empty, or the text would exceed 1024 tokens.
        """
        ids = self.tokenizer.encode(prompt).ids
        if not ids:
            raise ValueError(f"prompt must have at least one token, got {prompt!r}")
        generator = torch.Generator().manual_seed(seed)
        written = generate(
            self.model, torch.tensor([ids]), max_new_tokens, k=40, generator=generator
        )
        return self.tokenizer.decode(written[0].tolist())


def load_published_gpt2() -> PublishedGPT2 | None:
    """Load the published GPT-2; None if `make gpt2` has not fetched it.

    Raises:
        GPT2FileError: a RuntimeError, if a file is not the published one.

    >>> published = load_published_gpt2()
    >>> published is None or published.model.config.parameters == 124_439_808
    True
    """
    folder = find_gpt2()
    if folder is None:
        return None
    return PublishedGPT2(
        load_gpt2(folder).eval(), Tokenizer.from_file(str(folder / "tokenizer.json"))
    )


def _config_from_hub(fields: Mapping[str, object]) -> GPT2Config:
    for name, allowed in _FIXED.items():
        if fields.get(name, allowed[0]) not in allowed:
            raise GPT2RefusedError(f"{CONFIG}: {name} must be {allowed[0]!r}, got {fields[name]!r}")
    missing = [theirs for theirs in _SIZES.values() if theirs not in fields]
    if missing:
        raise GPT2RefusedError(f"{CONFIG} must give {', '.join(missing)}")
    sizes = {ours: fields[theirs] for ours, theirs in _SIZES.items()}
    if wrong := [_SIZES[ours] for ours, size in sizes.items() if not _is_size(size)]:
        raise GPT2RefusedError(f"{CONFIG}: {wrong[0]} must be a positive integer")
    hidden, eps = fields.get("n_inner"), fields.get("layer_norm_epsilon", 1e-5)
    if not (hidden is None or _is_size(hidden)) or not (isinstance(eps, float) and eps > 0):
        raise GPT2RefusedError(f"{CONFIG}: n_inner and layer_norm_epsilon must be positive")
    try:
        return GPT2Config(**sizes, feedforward_width=hidden, eps=eps)  # type: ignore
    except (TypeError, ValueError) as error:
        raise GPT2RefusedError(f"{CONFIG}: {error}") from None


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _check_size(config: GPT2Config, weights: Path) -> None:
    """Refuse a config with more parameters than the file can contain, before a model is built."""
    size = weights.stat().st_size
    if config.parameters > size:
        raise GPT2RefusedError(
            f"{CONFIG} must describe a model that fits into {WEIGHTS} ({size} bytes), "
            f"got one of {config.parameters} parameters"
        )


def _config_to_hub(config: GPT2Config, dtype: torch.dtype) -> dict[str, object]:
    end = END_OF_TEXT if config.vocab_size > END_OF_TEXT else None
    return {
        "architectures": ["GPT2LMHeadModel"],
        **{name: allowed[0] for name, allowed in _FIXED.items()},
        **{theirs: getattr(config, ours) for ours, theirs in _SIZES.items()},
        "n_inner": config.feedforward_width,
        "layer_norm_epsilon": config.eps,
        "dtype": str(dtype).removeprefix("torch."),
        "bos_token_id": end,
        "eos_token_id": end,
    }


def _names(config: GPT2Config) -> Iterator[tuple[str, list[str]]]:
    """Yield each tensor's name in the file, and our names of its parts, one or three."""
    for theirs, ours in _OUTSIDE.items():
        for kind in ("weight", "bias") if theirs == "ln_f" else ("weight",):
            yield f"{theirs}.{kind}", [f"{ours}.{kind}"]
    for i in range(config.num_layers):
        for theirs, parts in _IN_BLOCK.items():
            for kind in ("weight", "bias"):
                yield f"h.{i}.{theirs}.{kind}", [f"blocks.{i}.{ours}.{kind}" for ours in parts]


def _is_transposed(name: str) -> bool:
    return ".c_" in name and name.endswith("weight")


def _to_hub(weights: Mapping[str, Tensor], config: GPT2Config) -> dict[str, Tensor]:
    joined = {name: _join([weights[one] for one in ours]) for name, ours in _names(config)}
    return {
        name: tensor.T.contiguous() if _is_transposed(name) else tensor
        for name, tensor in joined.items()
    }


def _join(parts: list[Tensor]) -> Tensor:
    if parts[0].is_meta:  # torch.cat of two shapes would import torch's compiler
        return parts[0].new_empty(sum(map(len, parts)), *parts[0].shape[1:])
    return torch.cat(parts)


def _from_hub(tensors: Mapping[str, Tensor], config: GPT2Config) -> dict[str, Tensor]:
    weights = {}
    for name, ours in _names(config):
        tensor = tensors[name].T if _is_transposed(name) else tensors[name]
        for one, part in zip(ours, tensor.chunk(len(ours)), strict=True):
            # A copy: the tensor is mapped from the file, which may be overwritten.
            weights[one] = part.to(torch.float32, memory_format=torch.contiguous_format, copy=True)
    return weights


def _drop_copies(tensors: dict[str, Tensor], prefix: str, config: GPT2Config) -> None:
    """Drop the causal masks of older files, and the output layer, a copy of the embeddings."""
    for i in range(config.num_layers):
        for constant in ("bias", "masked_bias"):
            tensors.pop(f"{prefix}h.{i}.attn.{constant}", None)
    output, embeddings = tensors.pop("lm_head.weight", None), tensors.get(f"{prefix}wte.weight")
    if output is not None and embeddings is not None and not torch.equal(output, embeddings):
        raise GPT2RefusedError(
            f"{WEIGHTS}: lm_head.weight must equal {prefix}wte.weight, "
            "as the output layer of GPT-2 does"
        )


def _check_tensors(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    _refuse_if_any("is missing", expected.keys() - tensors.keys())
    _refuse_if_any("is not part of this GPT-2", tensors.keys() - expected.keys())
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise GPT2RefusedError(
                f"{WEIGHTS}: {name} must have shape {tuple(expected[name].shape)}, "
                f"got {tuple(tensor.shape)}"
            )
        if not tensor.is_floating_point():
            raise GPT2RefusedError(f"{WEIGHTS}: {name} must be floating-point, got {tensor.dtype}")


def _refuse_if_any(what: str, names: Iterable[str]) -> None:
    names = sorted(names)
    if names:
        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        raise GPT2RefusedError(f"{WEIGHTS}: {names[0]} {what}{more}")


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:  # also a renamed pickle
        raise GPT2RefusedError(f"{path.name} must be a safetensors file, got: {error}") from None
