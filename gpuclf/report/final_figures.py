"""From the result of an experiment to what the report shows and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from gpuclf.metrics.ranking import log_probabilities
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.models.sequence.content import ContentOptions
from gpuclf.models.sequence.content_predictor import ContentPredictor
from gpuclf.report.content_topics import moves_figure, topic_facts, topics_markdown
from gpuclf.report.ending import ending
from gpuclf.report.forest_text import importances, tree_lines
from gpuclf.report.graph_facts import GraphFacts
from gpuclf.report.graph_figure import clique_tree_figure, graph_figure
from gpuclf.report.graph_model import graph_facts, word_facts
from gpuclf.report.network_figures import histograms, layers_text
from gpuclf.report.plots import png
from gpuclf.report.summary import FinalFigures, GridPlan, StepRow
from gpuclf.report.transitions import model_transitions, transition_figure
from gpuclf.report.word_pictures import word_pictures, word_texts
from gpuclf.report.word_table import judged_of
from gpuclf.train.experiment import ExperimentResult
from gpuclf.train.grid import expand, seeds_of
from gpuclf.train.model_file import Model
from gpuclf.train.options import ExperimentOptions


def grid_plan(options: ExperimentOptions) -> GridPlan:
    """What the config will train: cells, and the (seed, fold) runs of each."""
    folds: list[int | None] = [None]
    counted = True
    if options.folds is not None:
        chosen = options.folds
        if chosen.k == "all":
            counted = False
        else:
            folds = list(range(chosen.k * chosen.repeats)) if chosen.index is None else [chosen.index]
    runs = [(seed, fold) for seed in seeds_of(options) for fold in folds]
    return GridPlan([cell.settings for cell in expand(options)], runs, counted)


def model_weights(model: Model) -> Any:
    """The weights (V+1, K) of a linear model of one replica, those of features in a chain, of these what all topics
    share; None for other models."""
    if isinstance(model.predictor, ContentPredictor):
        return model.predictor.weights[:, 0, : len(model.classes)].cpu()
    if not isinstance(model.predictor, LinearPredictor | ChainPredictor):
        return None
    return model.predictor.weights[:, 0].cpu()


def seeks_optimum(model: Model) -> bool:
    """Whether the learner steps until an objective is at its least, max_iter being the most that it may. Joint EM has
    a number of rounds."""
    if isinstance(model.options, ContentOptions) and model.options.content == "joint":
        return False
    return "max_iter" in type(model.options).model_fields


def final_figures(
    options: ExperimentOptions, config_text: str, result: ExperimentResult, last: StepRow | None = None
) -> FinalFigures:
    """The record that TensorBoard and the page are given: test documents, or the out-of-fold ones without a test file.

    Where scores are joint log probabilities they are made posteriors, as for metrics.json: the joint scores of one
    document say nothing beside another's. last: the row of the final model's last step, if there is one.
    """
    shown = result.test if result.test is not None else result.out_of_fold
    model = result.models[0].model
    scores = None if shown is None else shown.scores
    graph, transitions, topics = graph_facts(model), model_transitions(model), topic_facts(model)
    words = word_facts(model)
    if scores is not None and model.probabilities:
        scores = log_probabilities(scores)
    return FinalFigures(
        name=options.name,
        classes=model.classes,
        cells=result.metrics["cells"],
        best=result.metrics["best"],
        gold=None if shown is None else shown.gold,
        predicted=None if shown is None else shown.predicted,
        scores=scores,
        probabilities=model.probabilities,
        rows_are="test" if result.test is not None else "out_of_fold",
        test=result.metrics.get("test", {}),
        feature_names=model.encoder.names,
        weights=model_weights(model),
        importances=importances(model),
        tree=tree_lines(model),
        graph=graph,
        words=words,
        transitions=transitions,
        topics=topics,
        pictures=_pictures(graph, transitions, model.classes)
        | (word_pictures(words) if options.run.tensorboard else {})
        | ({} if topics is None else {"topic_moves": png(moves_figure(topics))}),
        texts=layers_text(model)
        | ({} if topics is None else {"topics": topics_markdown(topics.words)})
        | ({} if graph is None else {"factorisation": "\n".join(f"    {line}" for line in graph.lines())})
        | word_texts(words, judged_of(result.metrics)),
        forest=result.metrics.get("forest", {}),
        histograms=histograms(model, result.corpus),
        config_text=config_text,
        seconds=result.metrics["seconds"],
        device=result.metrics["device"],
        ending=ending(result.metrics, seeks_optimum(model), last),
    )


def _pictures(graph: GraphFacts | None, transitions: Tensor | None, classes: Sequence[str]) -> dict[str, bytes]:
    """As PNG files by name, a graph and its clique tree, the transitions of a chain."""
    found = {} if graph is None else {"graph": png(graph_figure(graph)), "clique_tree": png(clique_tree_figure(graph))}
    return found if transitions is None else found | {"transitions": png(transition_figure(transitions, classes))}
