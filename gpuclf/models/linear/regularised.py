"""Options that all batch linear learners share, and which combinations of loss, penalty and optimiser make sense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gpuclf.faults import UserFault
from gpuclf.models.learner import Learner, LearnerOptions
from gpuclf.models.linear.descent import MEMORY, BatchDescent
from gpuclf.models.linear.dual import DualDescent
from gpuclf.models.linear.objective import Aim
from gpuclf.models.linear.stochastic import StochasticDescent
from gpuclf.models.linear.training_rows import named_class_weight
from gpuclf.models.train_options import TrainOptions
from gpuclf.optim.losses import Loss
from gpuclf.optim.penalties import Penalty, PenaltyKind
from gpuclf.optim.schedules import Schedule

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
OptimizerKind = Literal["lbfgs", "owlqn", "newton", "gradient_descent", "dcd", "sgd", "adagrad"]
ScheduleName = Literal["line_search", "constant", "inverse", "power"]

_SMOOTH_ONLY = ("lbfgs", "owlqn", "newton")
_STOCHASTIC = ("sgd", "adagrad")
_WARM_EPOCHS = 10


class RegularisedOptions(LearnerOptions):
    """What `logistic` and `svm` share. Minimised is C · Σ loss + penalty; the offset is never penalised."""

    penalty: PenaltyKind = "l2"  # l2: ½‖W‖²; l1: ‖W‖₁; elasticnet: l1_ratio · ‖W‖₁ + (1 - l1_ratio) · ½‖W‖²; none
    C: Positive = 1.0  # what the losses count against the penalty: small is strong regularisation
    l1_ratio: Annotated[float, Field(ge=0, le=1)] = 0.5  # for penalty: elasticnet
    offset: bool = True  # false: no weight of its own for each class
    class_weight: Literal["balanced"] | dict[str, Positive] | None = None  # what a document of a class counts
    tol: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1e-4  # the smaller, the nearer to the optimum
    max_iter: Annotated[int, Field(ge=1)] = 500  # iterations (lbfgs, owlqn, newton, gradient_descent), epochs (others)
    start: Literal["dual", "zero"] = "dual"  # lbfgs, newton of logistic with l2: epochs of dcd first, on the CPU
    schedule: ScheduleName | None = None  # gradient_descent: line_search unless given; sgd: power unless given
    learning_rate: Positive = 0.5  # of the first step of a schedule, and of adagrad
    power: Annotated[float, Field(gt=0, le=1)] = 0.5  # of schedule: power, learning_rate / t^power
    average: bool = False  # sgd, adagrad: the mean of the weights after every document; false: the last weights

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.C", "model.l1_ratio", "model.learning_rate"})
    train_keys: ClassVar[frozenset[str]] = frozenset({"batch", "shuffle", "early_stopping", "evaluate_every"})
    evaluate_every: ClassVar[int] = 10
    no_weights: ClassVar[str | None] = None
    simplest: ClassVar[dict[str, int]] = {"model.C": -1}

    def max_steps(self, train: TrainOptions) -> int | None:
        return self.max_iter

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """Vectors of weights that the optimiser holds at once; matrices of views have fewer features and take less."""
        optimizer = str(getattr(self, "optimizer", "lbfgs"))
        quasi = {name: 2 * memory + 12 for name, memory in MEMORY.items()}
        vectors = quasi | {"newton": 11, "gradient_descent": 8}
        sums = 4 if self.average else 0  # in float64, and the mean that is evaluated
        return 4 * (num_features + 1) * num_classes * (vectors.get(optimizer, 4) + sums)


def check_combination(options: RegularisedOptions, loss: str, optimizer: str) -> None:
    """ValueError with the reason and the remedy where the parts do not go together."""
    smooth, penalty = Loss(loss).smooth, Penalty(options.penalty)
    if optimizer in _SMOOTH_ONLY and not smooth:
        raise ValueError(
            f"optimizer: {optimizer} needs a loss without kinks, and {loss} has them; "
            "set optimizer: sgd or adagrad (margin with penalty l2: dcd), or loss: squared_margin"
        )
    if optimizer in ("lbfgs", "newton", "gradient_descent") and not penalty.smooth:
        raise ValueError(
            f"optimizer: {optimizer} cannot reach the zeros of penalty: {options.penalty}; set optimizer: owlqn"
            + ("" if smooth else " with a smooth loss, or sgd or adagrad")
        )
    if optimizer == "owlqn" and penalty.smooth:
        raise ValueError(
            f"owlqn is lbfgs for an L1 part, and penalty: {options.penalty} has none; set optimizer: lbfgs"
        )
    if optimizer == "dcd" and options.penalty != "l2":
        raise ValueError(
            f"dual coordinate descent needs penalty: l2, not {options.penalty}: the dual has W = Xᵀa only there"
        )
    if optimizer == "dcd" and loss not in ("margin", "logistic"):
        raise ValueError(f"dual coordinate descent is for the margin and logistic losses, not for {loss}")
    if options.average and optimizer not in _STOCHASTIC:
        raise ValueError(
            f"average means nothing with optimizer: {optimizer}, whose weights settle at the optimum; "
            "remove it, or set optimizer: sgd or adagrad"
        )
    _check_schedule(options, smooth, optimizer)
    if _changed(options, "l1_ratio") and options.penalty != "elasticnet":
        raise ValueError(
            f"l1_ratio means nothing with penalty: {options.penalty}; set penalty: elasticnet or remove it"
        )
    if _changed(options, "C") and options.penalty == "none":
        raise ValueError("C means nothing with penalty: none; remove one of them")


def _changed(options: RegularisedOptions, name: str) -> bool:
    """Whether an option is not at its default; a resolved config says all of them."""
    return bool(getattr(options, name) != type(options).model_fields[name].default)


def _check_schedule(options: RegularisedOptions, smooth: bool, optimizer: str) -> None:
    given = options.schedule
    if given is not None and optimizer not in ("gradient_descent", "sgd"):
        raise ValueError(f"schedule means nothing with optimizer: {optimizer}, which finds its own steps; remove it")
    if given == "line_search" and optimizer == "sgd":
        raise ValueError("sgd sees a few documents at a time, on which no line can be searched; set another schedule")
    if optimizer == "gradient_descent" and not smooth and given in (None, "line_search"):
        raise ValueError("a line search gets stuck at the kinks of the loss; set schedule: power")
    rated = optimizer in _STOCHASTIC or (optimizer == "gradient_descent" and given not in (None, "line_search"))
    if _changed(options, "learning_rate") and not rated:
        raise ValueError(f"learning_rate means nothing with optimizer: {optimizer} as it is set here; remove it")
    used = given == "power" or (given is None and optimizer == "sgd")
    if _changed(options, "power") and not used:
        raise ValueError("power means nothing without schedule: power")


def build_learner(
    options: RegularisedOptions, loss: Loss, optimizer: OptimizerKind, train: TrainOptions, names: Sequence[str]
) -> Learner:
    """The learner of a checked combination."""
    class_weight = named_class_weight(options.class_weight, names)
    aim = Aim(loss, Penalty(options.penalty), options.C, options.l1_ratio, options.offset, class_weight)
    if optimizer == "sgd" or optimizer == "adagrad":
        schedule = Schedule("constant") if optimizer == "adagrad" else _schedule(options, "power")
        assert schedule is not None
        return StochasticDescent(
            aim=aim,
            adaptive=optimizer == "adagrad",
            schedule=schedule,
            learning_rate=options.learning_rate,
            tol=options.tol,
            batch=train.documents_at_once,
            shuffle=train.shuffle,
            average=options.average,
        )
    _refuse_portions(train, optimizer)
    if optimizer == "dcd":
        return DualDescent(aim, options.tol, train.shuffle)
    return BatchDescent(
        aim=aim,
        optimizer=optimizer,
        tol=options.tol,
        schedule=_schedule(options, None) if optimizer == "gradient_descent" else None,
        learning_rate=options.learning_rate,
        warm_epochs=_WARM_EPOCHS if _can_warm_up(options, loss, optimizer) else 0,
    )


def _can_warm_up(options: RegularisedOptions, loss: Loss, optimizer: str) -> bool:
    dual = loss.kind == "logistic" and options.penalty == "l2" and optimizer in ("lbfgs", "newton")
    return dual and options.start == "dual"


def _schedule(options: RegularisedOptions, default: Literal["power"] | None) -> Schedule | None:
    kind = options.schedule or default
    return None if kind is None or kind == "line_search" else Schedule(kind, options.power)


def _refuse_portions(train: TrainOptions, optimizer: str) -> None:
    unused = ["batch", *(["shuffle"] if optimizer != "dcd" else [])]
    for name in unused:
        if getattr(train, name) != TrainOptions.model_fields[name].default:  # a resolved config has every key
            raise UserFault(
                f"has no meaning for optimizer: {optimizer}, whose steps are not portions of documents",
                key=f"train.{name}",
                remedy="remove it, or set model.optimizer: sgd",
            )
