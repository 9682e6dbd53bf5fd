"""GPT-2's weights on disk, in the hub's format: config.json and model.safetensors in a folder.

The file names other layers than ours, and cuts them otherwise: ``c_attn`` holds the matrices of
queries, keys and values side by side, and every ``c_`` matrix is stored as (in, out), transposed,
for the layer called Conv1D that the first GPT was written with. Only safetensors and JSON are
opened, and nothing is unpickled.

Source: github.com/openai/gpt-2, src/model.py, for the names.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from course_utils.checks import check_choice, check_instance
from course_utils.data.model_folder import check_path, model_folder, read_json
from course_utils.models.gpt2 import ATTENTIONS, GPT2, GPT2Config
from course_utils.models.skeleton import shapes_alone

__all__ = ["GPT2NotFoundError", "GPT2RefusedError", "load_gpt2", "save_gpt2"]

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
# What else a config may ask for, and the values that mean our GPT-2; the first is the default.
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
    """The folder does not hold the files that a GPT-2 is read from."""


class GPT2RefusedError(ValueError):
    """A file is there, but holds no GPT-2, or not the one that the other describes."""


def load_gpt2(path: str | Path, *, attention: str = "attend") -> GPT2:
    """Read a GPT-2 from a folder. Its weights are float32, whatever the file has.

    Args:
        path: a folder with config.json and model.safetensors, as ``save_gpt2`` and the
            ``save_pretrained`` of ``transformers`` write it.
        attention: as in ``GPT2Config``.

    Raises:
        TypeError: if path is not a path.
        GPT2NotFoundError: a FileNotFoundError, if there is no such folder, or a file is missing.
            Pickled weights are not read: as a pickle is opened it can run any program.
        GPT2RefusedError: a ValueError, naming the field of the config that means another model,
            or the tensor that is missing, left over, misshapen, or no floating-point one.
        ValueError: if the attention is unknown.
    """
    check_choice("attention", attention, ATTENTIONS)
    folder = model_folder(path, (CONFIG, WEIGHTS), GPT2NotFoundError)
    config = _config_from_hub(read_json(folder / CONFIG, GPT2RefusedError), attention)
    tensors = _read_tensors(folder / WEIGHTS)
    _check_size(config, folder / WEIGHTS)
    with shapes_alone():
        model = GPT2(config)
    prefix = PREFIX if any(name.startswith(PREFIX) for name in tensors) else ""
    _leave_aside_copies(tensors, prefix, config)
    expected = _to_hub(model.state_dict(), config)
    _check_tensors(tensors, {prefix + name: tensor for name, tensor in expected.items()})
    named = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    model.load_state_dict(_from_hub(named, config), assign=True)
    return model


def save_gpt2(model: GPT2, path: str | Path) -> None:
    """Write a GPT-2 into a folder, which ``load_gpt2`` and ``transformers`` read.

    Args:
        model: its sizes and weights are written; how it computes attention is not.
        path: the folder, made if it is not there. What has the two files' names is replaced.

    Raises:
        TypeError: if model is not a GPT2, or path is not a path.
        ValueError: if path is a file, or the model's query heads share keys and values.

    >>> import tempfile
    >>> model = GPT2(GPT2Config(vocab_size=101, max_positions=32, width=12, num_heads=3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_gpt2(model, folder)
    ...     again = load_gpt2(folder)
    >>> torch.equal(again.tokens.weight, model.tokens.weight)
    True
    """
    check_instance("model", model, GPT2, "a GPT2")
    if (shared := model.config.num_kv_heads) is not None:
        raise ValueError(
            "model must have num_kv_heads=None, since the format has no place for shared heads, "
            f"got num_kv_heads={shared}"
        )
    folder = check_path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"path must be a folder, got the file {str(path)!r}")
    folder.mkdir(parents=True, exist_ok=True)
    tensors = _to_hub(model.state_dict(), model.config)
    named = {PREFIX + name: tensor for name, tensor in tensors.items()}
    safetensors.torch.save_file(named, folder / WEIGHTS, metadata={"format": "pt"})
    described = _config_to_hub(model.config, model.tokens.weight.dtype)
    (folder / CONFIG).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def _config_from_hub(fields: Mapping[str, object], attention: str) -> GPT2Config:
    for name, allowed in _FIXED.items():
        if fields.get(name, allowed[0]) not in allowed:
            raise GPT2RefusedError(f"{CONFIG}: {name} must be {allowed[0]!r}, got {fields[name]!r}")
    missing = [theirs for theirs in _SIZES.values() if theirs not in fields]
    if missing:
        raise GPT2RefusedError(f"{CONFIG} must give {', '.join(missing)}")
    sizes = {ours: fields[theirs] for ours, theirs in _SIZES.items()}
    hidden, eps = fields.get("n_inner"), fields.get("layer_norm_epsilon", 1e-5)
    try:
        return GPT2Config(**sizes, feedforward_width=hidden, eps=eps, attention=attention)  # type: ignore
    except (TypeError, ValueError) as error:
        raise GPT2RefusedError(f"{CONFIG}: {error}") from None


def _check_size(config: GPT2Config, weights: Path) -> None:
    """Refuse a config of more numbers than fit into the file, before a model is made of it."""
    size = weights.stat().st_size
    if config.parameters > size:
        raise GPT2RefusedError(
            f"{CONFIG} must describe a model that fits into {WEIGHTS} ({size} bytes), "
            f"got one of {config.parameters} numbers"
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
    """Yield each tensor's name in the file, and those of ours that it holds, one or three."""
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
    if parts[0].is_meta:  # only a shape: joining two would import torch's compiler, as a draw would
        return parts[0].new_empty(sum(map(len, parts)), *parts[0].shape[1:])
    return torch.cat(parts)


def _from_hub(tensors: Mapping[str, Tensor], config: GPT2Config) -> dict[str, Tensor]:
    weights = {}
    for name, ours in _names(config):
        tensor = tensors[name].T if _is_transposed(name) else tensors[name]
        for one, part in zip(ours, tensor.chunk(len(ours)), strict=True):
            # A copy: what is read lies in the file itself, which may be written anew.
            weights[one] = part.to(torch.float32, memory_format=torch.contiguous_format, copy=True)
    return weights


def _leave_aside_copies(tensors: dict[str, Tensor], prefix: str, config: GPT2Config) -> None:
    """Take out what holds nothing learned, or something learned once more.

    Older files have each block's causal mask, and the number that stood for -inf. Some have the
    output layer, which is the embeddings again.
    """
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
    except safetensors.SafetensorError as error:  # a pickle by another name, too
        raise GPT2RefusedError(f"{path.name} must be a safetensors file, got: {error}") from None
