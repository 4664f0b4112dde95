"""Options of the content model for reviews: topics of sentences beside labels of tokens.

Sauper, Haghighi & Barzilay 2010, "Incorporating Content Structure into Text Analysis Applications".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gpuclf.models.learner import Learner, LearnerOptions
from gpuclf.models.sequence.chain_descent import MEMORY, ChainDescent
from gpuclf.models.sequence.content_learner import ContentLearner
from gpuclf.models.sequence.decoding import Decode, none_class
from gpuclf.models.train_options import Positive, TrainOptions

Count = Annotated[int, Field(ge=1)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ContentOptions(LearnerOptions):
    """A hidden Markov model of the topics of a review's sentences, and a CRF of the labels of their tokens, of whose
    weights each topic has a copy. `content`: train both together, one after the other, or the CRF alone.
    """

    type: Literal["content"] = "content"
    topics: Annotated[int, Field(ge=1)] = 7
    background: Annotated[float, Field(ge=0, lt=1)] = 0.85  # P(a content word comes from no topic)
    smoothing: Positive = 1.0  # pseudo-count of a review's start, of a transition between topics, of its end
    content: Literal["joint", "independent", "none"] = "joint"
    em_iterations: Count = 200  # of the content model alone
    restarts: Count = 1  # random content models, of which the one goes on whose words are likeliest
    joint_iterations: Count = 50  # of joint EM
    crf_steps: Count = 5  # of L-BFGS in one of them
    unlabelled_scale: NotNegative = 0.5  # what words count against labels in joint EM
    C: Positive = 2.0  # variance of the weights that topics share: what labels count against the penalty
    topic_C: NotNegative = 0.5  # variance of the topics' copies; 0: there are none
    origin: bool = True  # whether a word comes from the topic or the background is a feature
    tol: NotNegative = 1e-3  # of the CRF, for content: independent and none
    max_iter: Count = 200  # of the CRF likewise
    joint_tol: NotNegative = 1e-6  # joint EM ends when its objective rises by less, relatively
    decode: Decode = "mbr"
    recall_penalty: Positive = 4.0  # of decode: mbr: the cost of calling an aspect's token none; other errors cost 1
    none_label: str | None = None  # the label for no aspect; None: NONE or O

    per_replica: ClassVar[frozenset[str]] = frozenset(
        {"model.C", "model.topic_C", "model.background", "model.unlabelled_scale", "model.recall_penalty"}
    )
    train_keys: ClassVar[frozenset[str]] = frozenset({"early_stopping", "evaluate_every"})
    evaluate_every: ClassVar[int] = 10
    simplest: ClassVar[dict[str, int]] = {"model.C": -1, "model.topic_C": -1}
    reads: ClassVar[frozenset[str]] = frozenset({"reviews"})
    default_features: ClassVar[str] = "review_context"
    default_metric: ClassVar[str] = "aspect_f1"

    @property
    def reads_unlabelled(self) -> bool:  # type: ignore[override]
        """Topics are learnt from all reviews, labels from those that have them."""
        return self.content != "none"

    @property
    def probabilities(self) -> bool:  # type: ignore[override]
        """Whether scores are log probabilities."""
        return self.decode == "marginal"

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Learner:
        none = none_class(class_names, self.none_label) if self.decode == "mbr" else 0
        if self.content == "none":
            return ChainDescent(self.C, self.tol, self.decode, self.recall_penalty, none)
        return ContentLearner(
            topics=self.topics,
            content=self.content,
            background=self.background,
            smoothing=self.smoothing,
            em_iterations=self.em_iterations,
            restarts=self.restarts,
            crf_steps=self.crf_steps,
            unlabelled_scale=self.unlabelled_scale,
            C=self.C,
            topic_C=self.topic_C,
            tol=self.tol,
            joint_tol=self.joint_tol,
            origin=self.origin,
            decode=self.decode,
            recall_penalty=self.recall_penalty,
            none=none,
        )

    def max_steps(self, train: TrainOptions) -> int | None:
        if self.content == "none":
            return self.max_iter
        return self.em_iterations + (self.joint_iterations if self.content == "joint" else self.max_iter)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """Vectors of weights that the optimiser holds at once."""
        copies = 1 if self.content == "none" else self.topics + 1
        return 4 * (num_features + 3 + num_classes) * num_classes * copies * (2 * MEMORY + 8)

    def bytes_per_document(self, num_classes: int) -> int:
        """Scores of a token: at the point, along the direction, between them, probabilities and their gradient."""
        return 4 * num_classes * 6 * (1 if self.content == "none" else self.topics + 1)
