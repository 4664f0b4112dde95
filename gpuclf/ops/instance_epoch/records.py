"""Records of the rules that change more than the weights of the features they see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

FOLD_BELOW = 1 / 16  # a replica's weights take over its scale when the scale falls below this
SMALLEST_SIGMA = 1e-30  # a variance of 0 would never change again
SMALLEST_R = 1e-300  # of AROW: 1/r stays a number


@dataclass(frozen=True)
class InstanceRule:
    """An online rule, one instance at a time; its numbers are per replica, (R,) float64.

    y is the gold class, s = x·W with the offset, rival the highest-scoring wrong class (ties: lowest index),
    m = s_y - s_rival, v = sum_j x_j² (σ_{y,j} + σ_{rival,j}). Where a rule updates, with α > 0, it adds α σ_{y,j} x_j
    to W_{y,j} and takes α σ_{rival,j} x_j from W_{rival,j}, σ as it was before; then the step in the precision is
    1/σ_j ← 1/σ_j + ρ x_j² for both classes, which is

      diagonal "precision"   that, to the letter: the diagonal of Σ⁻¹ + ρ Δf Δfᵀ
      diagonal "covariance"  σ_j ← σ_j - β σ_j² x_j² with β = ρ/(1 + ρv): the diagonal of its inverse, Σ - β ΣΔf ΔfᵀΣ

      kind       updates when   α, before max(0, ·)                                                    ρ
      variance   φv > m         (-(1+2φm) + √((1+2φm)² - 8φ(m - φv))) / 4φv                            2αφ
      scw1       φ√v > m        min(C, (-mψ + √(m²φ⁴/4 + vφ²ζ)) / vζ), ψ = 1 + φ²/2, ζ = 1 + φ²        αφ/√u
      scw2       φ√v > m        (-(2mn + φ²mv) + φ√(φ²m²v² + 4nv(n + vφ²))) / 2(n² + nvφ²), n = v+1/2C αφ/√u
      arow       1 > m          (1 - m) / (v + r)                                                      1/r

    with √u = (-αvφ + √(α²v²φ² + 4v))/2, and none where v = 0. variance is CW of Dredze, Crammer & Pereira 2008; scw1
    with C = inf CW in standard deviations, Crammer, Dredze & Pereira 2008; scw1 and scw2 Wang, Zhao & Hoi 2012; arow
    Crammer, Kulesza & Dredze 2009. No σ falls below `SMALLEST_SIGMA`: with the diagonal "precision" a bad error of scw1
    without a limit brings v to about v²/φ²m², so that a few hundred rows without any rule would leave nothing.

    kind svm (Eisenstein 2018, eq. 2.47 and 2.48) has no covariance. Instance t has r' = argmax_k s_k + c(y,k), c(y,y)
    = 0 and ties to the lowest index. At every instance W ← (1-λ)W, and where r' ≠ y, η x is added to W_y and taken from
    W_r'; the scores are those before both. `cost` is c (K, K) float64, None for 1. eta None is the schedule
    η_t = 1/(λt) of Shalev-Shwartz et al. 2007, with the decay that belongs to it, W ← (1 - λη_t)W = (1 - 1/t)W.
    """

    kind: Literal["variance", "scw1", "scw2", "arow", "svm"]
    phi: Tensor | None = None  # variance, scw1, scw2
    C: Tensor | None = None  # scw1, scw2
    r: Tensor | None = None  # arow
    eta: Tensor | None = None  # svm
    decay: Tensor | None = None  # svm: λ
    cost: Tensor | None = None  # svm
    diagonal: Literal["precision", "covariance"] = "precision"

    def numbers(self) -> tuple[Tensor, Tensor]:
        """The two numbers that the kernels of this kind of rule take, (R,) each."""
        if self.kind == "svm":
            assert self.decay is not None
            return self.decay if self.eta is None else self.eta, self.decay
        if self.kind == "arow":
            assert self.r is not None
            limited = self.r.clamp(min=SMALLEST_R)
            return limited, limited
        assert self.phi is not None
        return self.phi, self.phi if self.C is None else self.C


@dataclass(frozen=True)
class InstanceModel:
    """What the epoch changes in place.

    weights (V+1, R, K) float32 or float64; sums of the same shape, or None without averaging; steps (R,) int64
    instances seen so far: the mean of the weights after each of T instances is weights - sums / T;
    covariance σ of the same shape, which begins at 1; None for kind svm.
    """

    weights: Tensor
    sums: Tensor | None
    steps: Tensor
    covariance: Tensor | None = None
