"""MiniLM (all-MiniLM-L6-v2): a small trained encoder that the lectures examine.

Six layers, twelve heads, width 384. Layers and heads are counted from 0: head 1 of layer 3 is
``reading.attentions[3][1]``. The weights are checked against their SHA-256 before they are read,
only safetensors and JSON files are opened, and nothing is unpickled.

Source: Wang et al., "MiniLM", 2020; Reimers and Gurevych, "Sentence-BERT", 2019.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from tokenizers import Tokenizer
from torch import Tensor

from course_utils.checks import check_int
from course_utils.data.minilm_files import MiniLMRefusedError, find_minilm, verified
from course_utils.data.model_folder import read_json
from course_utils.models.encoder import Encoder, EncoderConfig
from course_utils.models.skeleton import shapes_alone
from course_utils.shapes import Float

__all__ = ["MiniLM", "Reading", "load_minilm"]

_CONFIG = EncoderConfig(
    vocab_size=30522,
    width=384,
    num_layers=6,
    num_heads=12,
    feedforward_width=1536,
    max_positions=512,
    num_segments=2,
    norm_eps=1e-12,
)
# The same sizes under the names of its config.json.
_FIELDS = {
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "vocab_size": _CONFIG.vocab_size,
    "hidden_size": _CONFIG.width,
    "num_hidden_layers": _CONFIG.num_layers,
    "num_attention_heads": _CONFIG.num_heads,
    "intermediate_size": _CONFIG.feedforward_width,
    "max_position_embeddings": _CONFIG.max_positions,
    "type_vocab_size": _CONFIG.num_segments,
    "layer_norm_eps": _CONFIG.norm_eps,
}

# Where BERT's names differ from ours, in the order in which they are replaced.
_RENAMED = (
    ("embeddings.word_embeddings.", "embeddings.tokens."),
    ("embeddings.position_embeddings.", "embeddings.positions."),
    ("embeddings.token_type_embeddings.", "embeddings.segments."),
    ("embeddings.LayerNorm.", "embeddings.norm."),
    ("encoder.layer.", "layers."),
    ("attention.self.", "attention."),
    ("attention.output.dense.", "attention.output."),
    ("attention.output.LayerNorm.", "attention_norm."),
    ("intermediate.dense.", "feedforward.expand."),
    ("output.LayerNorm.", "feedforward_norm."),
)
# A buffer with 0, 1, 2, ..., and the layer of BERT's next-sentence task.
_UNUSED = frozenset({"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"})


@dataclass(frozen=True)
class Reading:
    """What MiniLM computed for one text. There is no batch axis.

    Attributes:
        tokens: the T word pieces; the first is ``[CLS]``, the last ``[SEP]``, and a piece that
            continues a word begins with ``##``.
        hidden_states: the embeddings, then the output of each of the six layers.
        attentions: the weights of each layer, ``attentions[layer][head]``, row = query.
        queries: the queries of each layer, before the scale.
        keys: the keys of each layer.
        truncated: whether the text was too long and was cut.
    """

    tokens: tuple[str, ...]
    hidden_states: tuple[Float[Tensor, "T C"], ...]
    attentions: tuple[Float[Tensor, "H T T"], ...]
    queries: tuple[Float[Tensor, "H T D"], ...]
    keys: tuple[Float[Tensor, "H T D"], ...]
    truncated: bool


@dataclass(frozen=True, eq=False)
class MiniLM:
    """The encoder with MiniLM's weights, and its tokenizer.

    Attributes:
        encoder: our own encoder, in evaluation mode, without gradients for its weights.
        tokenizer: lower-cases the text and splits it into word pieces.
    """

    encoder: Encoder
    tokenizer: Tokenizer

    def read(self, text: str, max_tokens: int = 64) -> Reading:
        """Return what every layer and head computes for a text.

        Args:
            text: any text; other scripts and emoji become word pieces or ``[UNK]``.
            max_tokens: the maximum number of tokens, 3 to 512, with ``[CLS]`` and ``[SEP]``. A
                longer text is cut, and ``truncated`` says so.

        Raises:
            TypeError, ValueError: if the text has no word, or max_tokens is out of range.
        """
        longest = self.encoder.config.max_positions
        max_tokens = check_int("max_tokens", max_tokens, minimum=3, maximum=longest)
        token_ids, tokens, truncated = _tokenize(self.tokenizer, text, max_tokens)
        with torch.no_grad():
            output = self.encoder(torch.tensor([token_ids]))
        without_batch = (tuple(tensor[0] for tensor in tensors) for tensors in output)
        return Reading(tokens, *without_batch, truncated=truncated)


def load_minilm(path: str | Path | None = None) -> MiniLM:
    """Load MiniLM; a new model at each call, whose weights may be changed.

    Args:
        path: a folder with model.safetensors, tokenizer.json and config.json. If None, the
            installed package or the hub's cache on disk; nothing is downloaded.

    Raises:
        MiniLMNotFoundError, MiniLMRefusedError: if a file is missing, or of another model.

    >>> reading = load_minilm().read("The cat sat.")
    >>> reading.tokens
    ('[CLS]', 'the', 'cat', 'sat', '.', '[SEP]')
    >>> len(reading.attentions), tuple(reading.attentions[0].shape)
    (6, (12, 6, 6))
    """
    folder = find_minilm(path)
    # Mapped from the file, not copied: all models of a machine share these 91 MB until one is
    # changed. A change is never written to the file.
    tensors = safetensors.torch.load_file(verified(folder, "model.safetensors"))
    _check_config(read_json(folder / "config.json", MiniLMRefusedError))
    with shapes_alone():
        encoder = Encoder(_CONFIG)
    ours = {_our_name(name): tensor for name, tensor in tensors.items() if name not in _UNUSED}
    encoder.load_state_dict(ours, assign=True)
    return MiniLM(encoder.eval().requires_grad_(False), _load_tokenizer(folder))


def _tokenize(
    tokenizer: Tokenizer, text: str, max_tokens: int
) -> tuple[list[int], tuple[str, ...], bool]:
    try:
        encoded = tokenizer.encode(text)
    except (TypeError, UnicodeEncodeError):
        raise ValueError("text must be valid Unicode, got half of a surrogate pair") from None
    ids, tokens = encoded.ids, encoded.tokens
    if len(ids) <= 2:  # [CLS] and [SEP] alone
        raise ValueError(f"text must contain at least one word or sign, got {text[:20]!r}")
    truncated = len(ids) > max_tokens
    if truncated:
        ids = [*ids[: max_tokens - 1], ids[-1]]
        tokens = [*tokens[: max_tokens - 1], tokens[-1]]
    return ids, tuple(tokens), truncated


def _check_config(fields: Mapping[str, object]) -> None:
    for name, value in _FIELDS.items():
        # Older files do not name their position embeddings, which are these.
        found = fields.get(name, value if name == "position_embedding_type" else None)
        if found != value:
            raise MiniLMRefusedError(f"config.json: {name} must be {value!r}, got {found!r:.40}")


def _our_name(name: str) -> str:
    for theirs, ours in _RENAMED:
        name = name.replace(theirs, ours)
    # Every other "output.dense" of BERT belongs to the feed-forward sublayer.
    return name.replace(".output.dense.", ".feedforward.contract.")


def _load_tokenizer(folder: Path) -> Tokenizer:
    # Otherwise the library warns when a process that has used it forks, as notebooks do.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tokenizer = Tokenizer.from_file(str(verified(folder, "tokenizer.json")))
    # The file pads or cuts to 128 tokens.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
