"""Fill ``build/vectors`` ahead of a benchmark: ``python -m evaluations.bench.fill_vectors --data FOLDER [SET …]``.

Sets are filled in the order in which they are named. It may be broken off and started again; what is there already
costs nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from evaluations.bench.quality_rebuilt import passages_of, wording
from evaluations.bench.quality_sets import KINDS, read_set
from evaluations.bench.vector_cache import VectorCache, kept_vectors

PART = 64


def fill(cache: VectorCache, name: str, kind: str, texts: Sequence[str]) -> None:
    """Embed what is missing, and say how far it is."""
    missing = cache.missing(kind, texts)
    begun = time.monotonic()
    print(f"{name}: {len(missing)} of {len(set(texts))} {kind} texts are missing", flush=True)
    for start in range(0, len(missing), PART):
        cache.vectors(kind, missing[start : start + PART])
        done = min(start + PART, len(missing))
        print(f"{name}: {done} of {len(missing)}, {done / (time.monotonic() - begun):.1f} a second", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.fill_vectors")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embeddings", default=None, help="address of a running server of the model")
    parser.add_argument("sets", nargs="*", default=[])
    options = parser.parse_args()
    with kept_vectors(options.embeddings) as cache:
        kinds = {kind.name: kind for kind in KINDS}
        for kind in [kinds[name] for name in options.sets or kinds]:
            retrieval = read_set(options.data, kind)
            fill(cache, kind.name, "query", [wording(one) for one in retrieval.questions])
            fill(cache, kind.name, "passage", [text for one in retrieval.documents for text in passages_of(one)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
