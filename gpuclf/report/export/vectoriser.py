"""How documents become the values of an exported model, as JSON: what scikit-learn's vectoriser must be told.

Keys: classes and features in order; unicode, the normal form to bring a text into first; CountVectorizer, its
parameters (add `vocabulary=features`), or null with the reasons in not_in_scikit_learn; sublinear (1 + ln of a count),
binary, norm; options: the `features` section of the run; calibration: null, or how scores become probabilities.
The values go through: counts, binary or sublinear, times feature_scale, divided by the row's norm.
"""

from __future__ import annotations

from typing import Any

from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.token_pattern import compile_pattern
from gpuclf.features.tokenizer import text_normalizer
from gpuclf.models.replica_axis import flatten
from gpuclf.optim.calibration import Calibrator, calibrator_name
from gpuclf.report.export.linear_parts import LinearParts
from gpuclf.train.model_file import Model

FORMAT = 1


def vectoriser(model: Model, parts: LinearParts) -> dict[str, Any]:
    """The JSON-able record; see the module."""
    options = model.features
    missing = _not_in_scikit_learn(options)
    return {
        "format": FORMAT,
        "classes": list(parts.classes),
        "features": parts.features,
        "unicode": getattr(options, "normalize", "none"),
        "CountVectorizer": None if missing else _count_vectorizer(options),
        "not_in_scikit_learn": missing,
        "sublinear": bool(getattr(options, "sublinear", False)),
        "binary": parts.binary or options.weighting in ("binary", "nb_ratio"),
        "norm": None if parts.norm == "none" else parts.norm,
        "options": options.model_dump(mode="json"),
        "calibration": None if parts.calibrator is None else _calibration(parts.calibrator),
    }


def token_reader(model: Model, words: list[str]) -> dict[str, Any]:
    """The record of a model that reads words in their order: in place of features, `words`, of which the first has
    number 1. A text is brought into the normal form `unicode`, in lower case where `lowercase` says so, and into that
    form again; its words are what token_pattern (as Python's `re` takes it) finds, max_len of them at most."""
    options = model.features
    return {
        "format": FORMAT,
        "classes": list(model.classes),
        "words": words,
        "unicode": options.normalize,
        "lowercase": options.lowercase,
        "token_pattern": compile_pattern(options.token_pattern).pattern,
        "max_len": options.max_len,
        "options": options.model_dump(mode="json", exclude={"vectors"}),
        "calibration": None if model.calibrator is None else _calibration(model.calibrator),
    }


def _calibration(calibrator: Calibrator) -> dict[str, Any]:
    """The method and its numbers, as gpuclf.optim.calibration says what they mean."""
    tensors, values = flatten(calibrator)
    numbers = {name: tensor.tolist() for name, tensor in tensors.items()}
    return {"method": calibrator_name(calibrator)} | numbers | values


def _not_in_scikit_learn(options: Any) -> list[str]:
    """What CountVectorizer cannot do, in words; the values must then be made by other means."""
    if not isinstance(options, BagOfWordsOptions):
        return [f"type {options.type}: features have names in the data, no texts are cut"]
    settings = {
        "prefixes": options.prefixes is not None,
        "suffixes": options.suffixes is not None,
        "shapes": options.shapes,
        "hashing": options.hashing is not None,
        "weighting tf": options.weighting == "tf",
    }
    return [name for name, used in settings.items() if used]


def _count_vectorizer(options: BagOfWordsOptions) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "analyzer": options.analyzer,
        "lowercase": options.lowercase,
        "ngram_range": list(options.ngrams),
    }
    if options.analyzer == "word":
        normalize = text_normalizer(options.normalize, options.lowercase)
        parameters["token_pattern"] = compile_pattern(options.token_pattern).pattern
        parameters["stop_words"] = [normalize(word) for word in options.stop_words] or None
    return parameters
