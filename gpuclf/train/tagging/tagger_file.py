"""A trained tagger on disk: the two files of any model (gpuclf.train.model_file), with word types for an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from gpuclf.data.options import DataOptions
from gpuclf.features.options import WordTypesOptions
from gpuclf.features.word_types import EncodedSentences, WordTypes
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.tagger.predictor import TypeTagger
from gpuclf.train.model_store import data_of, incomplete, learner_of, read_files, write_files
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor


@dataclass(frozen=True)
class Tagger:
    """Everything that tags new text: word types, the chain's sample, the options it was trained with.

    counts (types,) int64: tokens of each type in the training text.
    """

    words: WordTypes
    predictor: TypeTagger
    options: LearnerOptions
    data: DataOptions  # how further files are read; where the training file lay is not kept
    counts: Tensor
    device: torch.device

    @property
    def num_tags(self) -> int:
        return self.predictor.num_tags

    @property
    def tag_names(self) -> list[str]:
        """Induced tags have numbers for names: T0, T1, … with as many digits as the last one."""
        width = len(str(self.num_tags - 1))
        return [f"T{tag:0{width}}" for tag in range(self.num_tags)]

    def tags(self, sentences: EncodedSentences) -> Tensor:
        """(tokens,) int64: the tag of each token. Each sentence is tagged by itself: no answer depends on others."""
        return self.predictor.tag(sentences.corpus.to(self.device), sentences.num_known)[0].cpu()


def save_tagger(folder: Path, tagger: Tagger) -> None:
    """Writes both files, each whole or not at all."""
    tensors, predictor = pack_predictor(tagger.predictor)
    numbers = {f"predictor.{name}": tensor for name, tensor in tensors.items()}
    numbers["counts"] = tagger.counts.cpu().contiguous()
    about = {
        "predictor": predictor,
        "features": tagger.words.options.model_dump(mode="json"),
        "encoder": tagger.words.to_json(),
    }
    write_files(folder, about, numbers, tagger.options, tagger.data)


def load_tagger(folder: Path, device: torch.device) -> Tagger:
    """The tagger of a run folder, on `device`. Raises UserFault for anything else."""
    about, numbers = read_files(folder)
    try:
        features = WordTypesOptions.model_validate(about["features"], strict=False)
        start = "predictor."
        fields = {name.removeprefix(start): tensor for name, tensor in numbers.items() if name.startswith(start)}
        predictor = unpack_predictor(fields, about["predictor"], device)
        if not isinstance(predictor, TypeTagger):
            raise TypeError(f"a {about['predictor']['kind']} predictor tags nothing")
        words = WordTypes.from_json(about["encoder"], features)
        options, data = learner_of(about), data_of(about, folder)
        return Tagger(words, predictor, options, data, numbers["counts"], device)
    except (KeyError, TypeError, ValueError) as error:
        raise incomplete(folder, error) from error
