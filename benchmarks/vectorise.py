"""Bag of words beside scikit-learn's CountVectorizer: same vocabulary and counts first, then times.

    python -m benchmarks.vectorise [DATA] [--repeats N] [--threads N] [--only NAME]
    python -m benchmarks.vectorise --quick        bundled BANKING77 only

DATA holds text/20news, text/banking77 and text/movie_reviews; $GPUCLF_DATA or ../shared/data where not given.
Both get the same list of texts in memory and give sparse counts and the sorted list of names. Compiling kernels on
their first use ever is left out: each contest runs once unmeasured. A time is printed only if names and counts
are equal entry for entry.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.green import require_green
from benchmarks.measure import alternate, markdown_table, surroundings
from gpuclf.data.records import Chunk
from gpuclf.features.encoded import Encoded
from gpuclf.features.encoder import fit_encoder
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.rows import SparseRows

TESTS = ["tests/ops/test_span_ops.py", "tests/ops/test_row_ops.py", "tests/features/test_bag_of_words.py"]
PATTERN = r"\b\w+\b"
CHUNK_DOCS = 4096
SETS = ("20news", "banking77", "movie_reviews")
CONTESTS: dict[str, tuple[BagOfWordsOptions, dict[str, Any]]] = {
    "words": (
        BagOfWordsOptions(token_pattern=PATTERN, normalize="none"),
        {"token_pattern": PATTERN},
    ),
    "words and bigrams": (
        BagOfWordsOptions(token_pattern=PATTERN, normalize="none", ngrams=(1, 2)),
        {"token_pattern": PATTERN, "ngram_range": (1, 2)},
    ),
    "char_wb 3-5": (
        BagOfWordsOptions(analyzer="char_wb", normalize="none", ngrams=(3, 5)),
        {"analyzer": "char_wb", "ngram_range": (3, 5)},
    ),
}
Vectorised = tuple[list[str], Any]  # names in column order, and a scipy CSR matrix


def read_texts(packed: bytes) -> list[str]:
    """The texts of a gzipped file of label TAB text lines."""
    lines = gzip.decompress(packed).decode("utf-8").split("\n")
    return [line.split("\t", 1)[1] for line in lines if line]


def ours(texts: Sequence[str], options: BagOfWordsOptions) -> Callable[[], tuple[list[str], Encoded]]:
    def run() -> tuple[list[str], Encoded]:
        parts = (texts[start : start + CHUNK_DOCS] for start in range(0, len(texts), CHUNK_DOCS))
        chunks = (Chunk([""] * len(part), [0] * len(part), None, texts=list(part)) for part in parts)
        encoder, encoded = fit_encoder(chunks, options)
        return encoder.names, encoded

    return run


def peers(texts: Sequence[str], settings: dict[str, Any]) -> Callable[[], Vectorised]:
    from sklearn.feature_extraction.text import CountVectorizer

    def run() -> Vectorised:
        vectoriser = CountVectorizer(**settings)
        matrix = vectoriser.fit_transform(texts)
        return vectoriser.get_feature_names_out().tolist(), matrix

    return run


def require_equal(our: tuple[list[str], Encoded], peer: Vectorised, what: str) -> None:
    """Ends the program unless both have the same names and the same counts of each in every document."""
    names, encoded = our
    peer_names, matrix = peer
    matrix.sort_indices()
    rows = encoded.rows
    assert isinstance(rows, SparseRows), "a bag of words is sparse"
    same = (
        names == peer_names
        and np.array_equal(rows.crow.numpy(), matrix.indptr)
        and np.array_equal(rows.col.numpy(), matrix.indices + 1)
        and np.array_equal(rows.val.numpy(), matrix.data)
    )
    if not same:
        sys.exit(f"no times: {what}: vocabulary or counts differ from CountVectorizer's")


def contest(title: str, texts: Sequence[str], name: str, repeats: int) -> list[str]:
    """One line of the table."""
    options, settings = CONTESTS[name]
    our_run, peer_run = ours(texts, options), peers(texts, settings)
    first = our_run()
    our_times, our_result, peer_times, peer_result = alternate(our_run, peer_run, repeats)
    for result in (first, our_result):
        require_equal(result, peer_result, f"{title}, {name}")
    return [
        f"{title}, {name}",
        str(len(texts)),
        str(len(our_result[0])),
        f"{our_times.median_wall:.2f}",
        f"{peer_times.median_wall:.2f}",
        f"{peer_times.median_wall / our_times.median_wall:.1f}",
        f"{our_times.median_cpu:.2f}",
        f"{peer_times.median_cpu:.2f}",
        f"{peer_times.median_cpu / our_times.median_cpu:.1f}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vectorise", description=__doc__.split("\n")[0])
    parser.add_argument("data", nargs="?", type=Path, help="folder that holds text/20news and others")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="threads of ours; CountVectorizer has one")
    parser.add_argument("--only", choices=CONTESTS, help="one kind of features")
    parser.add_argument("--quick", action="store_true", help="bundled BANKING77 only")
    given = parser.parse_args(arguments)
    require_green(TESTS)
    torch.set_num_threads(given.threads)
    head = ["texts, features", "documents", "names", "wall s", "peer", "ratio", "CPU s", "peer", "ratio"]
    rows = []
    for title, packed in data_sets(given.data, given.quick):
        texts = read_texts(packed)
        for name in [given.only] if given.only else CONTESTS:
            rows.append(contest(title, texts, name, given.repeats))
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(surroundings(torch.device("cpu")))
    print(markdown_table(head, rows))


def data_sets(folder: Path | None, quick: bool) -> list[tuple[str, bytes]]:
    if quick:
        return [("banking77", files("gpuclf").joinpath("data/bundled/banking77/train.tsv.gz").read_bytes())]
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    root = folder or Path(os.environ.get("GPUCLF_DATA", default))
    found = [(name, root / "text" / name / "train.tsv.gz") for name in SETS]
    missing = [str(path) for _, path in found if not path.is_file()]
    if missing:
        sys.exit(f"no data at {', '.join(missing)}; name the folder, or use --quick")
    return [(name, path.read_bytes()) for name, path in found]


if __name__ == "__main__":
    main()
