"""The closed lists: a config's `model.type` and a model file's predictor name one of these and nothing else."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.word_predictor import WordPredictor
from gpuclf.models.forest.boosted_predictor import BoostedPredictor
from gpuclf.models.forest.options import ForestOptions
from gpuclf.models.forest.predictor import ForestPredictor
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.arow import ArowOptions
from gpuclf.models.linear.bernoulli_predictor import BernoulliPredictor
from gpuclf.models.linear.cw import CwOptions
from gpuclf.models.linear.logistic import LogisticOptions
from gpuclf.models.linear.mira import MiraOptions, Pa2Options
from gpuclf.models.linear.naive_bayes import NaiveBayesOptions
from gpuclf.models.linear.online_svm import OnlineSvmOptions
from gpuclf.models.linear.perceptron import PerceptronOptions
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.linear.scw import ScwOptions
from gpuclf.models.linear.svm import SvmOptions
from gpuclf.models.neural.options import FeedforwardOptions, TextCnnOptions
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.models.sequence.content import ContentOptions
from gpuclf.models.sequence.content_predictor import ContentPredictor
from gpuclf.models.sequence.crf import CrfOptions
from gpuclf.models.tagger.options import TypeTaggerOptions
from gpuclf.models.tagger.predictor import TypeTagger

ModelOptions = Annotated[
    PerceptronOptions
    | MiraOptions
    | NaiveBayesOptions
    | LogisticOptions
    | SvmOptions
    | Pa2Options
    | OnlineSvmOptions
    | CwOptions
    | ArowOptions
    | ScwOptions
    | CrfOptions
    | ContentOptions
    | TypeTaggerOptions
    | DecomposableOptions
    | ForestOptions
    | FeedforwardOptions
    | TextCnnOptions,
    Field(discriminator="type"),
]

LEARNERS: dict[str, type[LearnerOptions]] = {
    "perceptron": PerceptronOptions,
    "mira": MiraOptions,
    "naive_bayes": NaiveBayesOptions,
    "logistic": LogisticOptions,
    "svm": SvmOptions,
    "pa2": Pa2Options,
    "online_svm": OnlineSvmOptions,
    "cw": CwOptions,
    "arow": ArowOptions,
    "scw": ScwOptions,
    "crf": CrfOptions,
    "content": ContentOptions,
    "type_tagger": TypeTaggerOptions,
    "decomposable": DecomposableOptions,
    "forest": ForestOptions,
    "feedforward": FeedforwardOptions,
    "text_cnn": TextCnnOptions,
}

# What model.json calls a predictor; a name is never given another meaning.
PREDICTORS: dict[str, type[Any]] = {
    "linear": LinearPredictor,
    "bernoulli": BernoulliPredictor,
    "chain": ChainPredictor,
    "content": ContentPredictor,
    "type_tagger": TypeTagger,
    "decomposable": DecomposablePredictor,
    "decomposable_words": WordPredictor,
    "forest": ForestPredictor,
    "boosted_trees": BoostedPredictor,
    "neural": NeuralPredictor,
}


def learner_options(type_name: str) -> type[LearnerOptions]:
    """The options class of a learner by its `type` name; ValueError with the names there are otherwise."""
    if type_name not in LEARNERS:
        raise ValueError(f"no learner is called {type_name!r}; there are: {', '.join(LEARNERS)}")
    return LEARNERS[type_name]
