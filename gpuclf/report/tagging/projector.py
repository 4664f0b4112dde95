"""Files for TensorBoard's embedding projector: every frequent word type as a point, coloured by its tag.

A type's vector is what stands beside it: the shares of the tags before and after its tokens, 2(K+1) numbers (the roots
of the shares, so that Euclidean distance is Hellinger's), and its name, tag and count are the point's labels.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from gpuclf.data.atomic_write import atomic_write
from gpuclf.train.tagging.experiment import TaggingResult

_WORDS = 5_000  # points; more make a browser slow
CONFIG = "projector_config.pbtxt"
VECTORS = "projector_vectors.tsv"
LABELS = "projector_words.tsv"


def write_projector(folder: Path, result: TaggingResult) -> None:
    """Three files; the config, which names the others, comes last."""
    tagger = result.tagger
    words = tagger.counts.sort(descending=True, stable=True).indices[:_WORDS]
    vectors = neighbour_shares(result, words).sqrt()
    atomic_write(folder / VECTORS, "".join("\t".join(f"{v:.5g}" for v in row) + "\n" for row in vectors.tolist()))
    lines = ["word\ttag\tcount\n"]
    tags = tagger.predictor.tags[0].cpu()
    for word in words.tolist():
        name = " ".join(tagger.words.names[word].split()) or "(rare words)"
        lines.append(f"{name}\t{tagger.tag_names[int(tags[word])]}\t{int(tagger.counts[word])}\n")
    atomic_write(folder / LABELS, "".join(lines))
    entry = f'embeddings {{\n  tensor_name: "words"\n  tensor_path: "{VECTORS}"\n  metadata_path: "{LABELS}"\n}}\n'
    atomic_write(folder / CONFIG, entry)


def neighbour_shares(result: TaggingResult, words: Tensor) -> Tensor:
    """(words, 2(K+1)) float64: the shares of the tags before (the last of them: sentence start) and after (end)."""
    corpus, k = result.text.sentences.corpus, result.tagger.num_tags
    tags, ids = result.tags, corpus.ids.to(torch.int64)
    before, after = torch.roll(tags, 1), torch.roll(tags, -1)
    lengths = corpus.offsets.diff()
    before[corpus.offsets[:-1][lengths > 0]] = k
    after[corpus.offsets[1:][lengths > 0] - 1] = k
    place = torch.full((corpus.num_types,), -1, dtype=torch.int64)
    place[words] = torch.arange(words.numel())
    row = place[ids]
    kept = row >= 0
    counts = torch.zeros(words.numel(), 2 * (k + 1), dtype=torch.float64)
    one = torch.ones(int(kept.sum()), dtype=torch.float64)
    counts.index_put_((row[kept], before[kept]), one, accumulate=True)
    counts.index_put_((row[kept], after[kept] + k + 1), one, accumulate=True)
    return counts / counts.sum(dim=1, keepdim=True).clamp(min=1) * 2
