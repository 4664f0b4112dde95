"""Induced tags against gold tags: the figures of a clustering, of all chains at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.word_types import EncodedSentences
from gpuclf.metrics.clustering import clustering_confusion, clustering_figures, commonest_gold, type_accuracy
from gpuclf.models.learner import Replicas
from gpuclf.models.tagger.predictor import TypeTagger


@dataclass(frozen=True)
class GoldTags:
    """How often each word type has each gold tag: pairs of types and gold tags (pairs,) int64 with their counts.

    It stands in the loop where a classifier's held-out rows do: after every sweep it judges the chains' tags.
    """

    types: Tensor
    gold: Tensor
    counts: Tensor
    num_gold: int
    num_tags: int

    @classmethod
    def of(cls, sentences: EncodedSentences, num_tags: int, device: torch.device) -> GoldTags | None:
        """None for a text without gold tags."""
        if sentences.gold is None:
            return None
        num_gold = len(sentences.gold_classes)
        keys, counts = torch.unique(sentences.corpus.ids.long() * num_gold + sentences.gold, return_counts=True)
        types, gold = keys // num_gold, keys % num_gold
        return cls(types.to(device), gold.to(device), counts.to(device), num_gold, num_tags)

    def metrics(self, predictor: TypeTagger, replicas: Replicas) -> dict[str, Tensor]:
        """Figures by name, each (R,) float64: every token counts."""
        chains = len(replicas)
        cells = predictor.tags[:, self.types] * self.num_gold + self.gold
        confusion = torch.zeros(chains, self.num_tags * self.num_gold, dtype=torch.int64, device=cells.device)
        confusion.scatter_add_(1, cells, self.counts.expand(chains, -1))
        figures = clustering_figures(confusion.reshape(chains, self.num_tags, self.num_gold))._asdict()
        del figures["tags_used"]  # the learner tells it, whether there are gold tags or not
        return {name: value.to(torch.float64) for name, value in figures.items()}


def tagging_figures(tags: Tensor, sentences: EncodedSentences, num_tags: int) -> dict[str, float]:
    """The figures of one tagging (tokens,) as metrics.json has them: by token, and as type_… by word type, where a
    type counts once, with the tag and the gold tag that most of its tokens have (the lowest of equals)."""
    assert sentences.gold is not None, "figures need gold tags"
    num_gold, ids = len(sentences.gold_classes), sentences.corpus.ids
    types = sentences.corpus.num_types
    own, gold = commonest_gold(ids, tags, types, num_tags), commonest_gold(ids, sentences.gold, types, num_gold)
    present = own >= 0
    by_token = clustering_confusion(tags[None], sentences.gold, num_tags, num_gold)
    by_type = clustering_confusion(own[present][None], gold[present], num_tags, num_gold)
    found = {name: float(value[0]) for name, value in clustering_figures(by_token)._asdict().items()}
    found |= {f"type_{name}": float(value[0]) for name, value in clustering_figures(by_type)._asdict().items()}
    return found | {"type_accuracy": float(type_accuracy(by_token, by_type)[0])}
