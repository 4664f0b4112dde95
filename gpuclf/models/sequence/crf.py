"""Options of the linear-chain conditional random field (Lafferty, McCallum & Pereira 2001; Sutton & McCallum 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from gpuclf.models.learner import Learner, LearnerOptions
from gpuclf.models.sequence.chain_descent import MEMORY, ChainDescent
from gpuclf.models.sequence.decoding import Decode, none_class
from gpuclf.models.train_options import Positive, TrainOptions


class CrfOptions(LearnerOptions):
    """Labels of all tokens of a sentence at once. Minimised is C · Σ -log P(labels | sentence) + ½‖W‖², by L-BFGS; all
    weights but the offset's are penalised, those of transitions as well.
    """

    type: Literal["crf"] = "crf"
    C: Positive = 1.0  # what the likelihood counts against the penalty: small is strong regularisation
    tol: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1e-3  # the smaller, the nearer to the optimum
    max_iter: Annotated[int, Field(ge=1)] = 200
    decode: Decode = "marginal"  # fewest wrong tokens, least risk (mbr), or the single best sequence (viterbi)
    recall_penalty: Positive = 1.0  # of decode: mbr: the cost of calling a token none wrongly; other errors cost 1
    none_label: str | None = None  # of decode: mbr: the label of tokens outside of spans; None: NONE or O

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.C", "model.recall_penalty"})
    train_keys: ClassVar[frozenset[str]] = frozenset({"early_stopping", "evaluate_every"})
    evaluate_every: ClassVar[int] = 10
    simplest: ClassVar[dict[str, int]] = {"model.C": -1}
    reads: ClassVar[frozenset[str]] = frozenset({"sentences"})
    default_features: ClassVar[str] = "token_context"

    @model_validator(mode="after")
    def _penalised(self) -> CrfOptions:
        for name in ("recall_penalty", "none_label"):
            if self.decode != "mbr" and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} means nothing with decode: {self.decode}; remove it, or set decode: mbr")
        return self

    @property
    def probabilities(self) -> bool:  # type: ignore[override]
        """Whether scores are log probabilities."""
        return self.decode == "marginal"

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Learner:
        none = none_class(class_names, self.none_label) if self.decode == "mbr" else 0
        return ChainDescent(self.C, self.tol, self.decode, self.recall_penalty, none)

    def max_steps(self, train: TrainOptions) -> int | None:
        return self.max_iter

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """Vectors of weights that the optimiser holds at once."""
        return 4 * (num_features + 1 + num_classes) * num_classes * (2 * MEMORY + 8)

    def bytes_per_document(self, num_classes: int) -> int:
        """Scores of a token: at the point, along the direction, between them, probabilities and their gradient."""
        return 4 * num_classes * 6
