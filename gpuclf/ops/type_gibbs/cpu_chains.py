"""Chains as the CPU kernels take them: records of arrays of all chains, and one chain's part of them."""

from __future__ import annotations

from typing import Any

import torch

from gpuclf.ops.kernel import kernel
from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.cpu_tables import Chain, Corpus, Setting, Settings
from gpuclf.ops.type_gibbs.log_rise import log_rise
from gpuclf.ops.type_gibbs.records import Hyper, TypeFeatures

_TABLE = 1 << 14  # counts looked up: 256 KiB a chain stay in the L2 cache; larger ones are worked out


def portions(chains: int) -> list[tuple[int, int]]:
    """Runs of chains: a few for every thread, so that one call of a kernel serves many short chains."""
    pieces = min(chains, 4 * torch.get_num_threads())
    return [(chains * piece // pieces, chains * (piece + 1) // pieces) for piece in range(pieces)]


def as_corpus(contexts: TypeContexts, features: TypeFeatures) -> Corpus:
    parts = (
        contexts.left_start, contexts.left_type, contexts.left_count,
        contexts.right_start, contexts.right_type, contexts.right_count,
        contexts.own, contexts.tokens, features.values.contiguous(), features.num_values,
    )  # fmt: skip
    return Corpus(*(part.numpy() for part in parts))


def as_settings(hyper: Hyper, num_types: int, temperature: float, repeat: int) -> Settings:
    """Of all chains; chains of one alpha or beta share its look-ups."""
    alphas, of_alpha = hyper.alpha.unique(return_inverse=True)
    betas, of_beta = hyper.beta.unique(return_inverse=True)
    c = torch.arange(_TABLE)
    log_alpha, rises = (c + alphas[:, None]).log(), log_rise(alphas[:, None], c)
    log_beta = (torch.arange(num_types + 1) + betas[:, None]).log()
    parts = (hyper.alpha, hyper.beta, hyper.level, of_alpha, of_beta, log_alpha, rises, log_beta)
    a, b, level, for_a, for_b, *tables = (part.contiguous().numpy() for part in parts)
    return Settings(a, b, level, for_a, for_b, tables[0], tables[1], tables[2], float(temperature), repeat)


@kernel
def chain_of(chains: Any, r: Any) -> Any:
    """One of them."""
    return Chain(chains.tags[r], chains.cells[r], chains.types[r], chains.tokens[r], chains.by_value[r])


@kernel
def setting_of(settings: Any, r: Any) -> Any:
    """That of one chain."""
    a, b = settings.of_alpha[r], settings.of_beta[r]
    return Setting(
        settings.alpha[r],
        settings.beta[r],
        settings.level[r],
        settings.temperature,
        settings.repeat,
        settings.log_alpha[a],
        settings.rises[a],
        settings.log_beta[b],
    )
