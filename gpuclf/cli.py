"""The `gpuclf` command: one function a command; parses, calls, prints. Heavy imports wait until a command runs."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

USER_FAULT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code: 0 done, 2 a user's fault, 130/143 stopped by a signal."""
    options = _parser().parse_args(arguments)
    from gpuclf.train.signals import stop_on_signals

    with stop_on_signals() as stop:
        try:
            return _until_stopped(options, stop)
        except KeyboardInterrupt:
            print("gpuclf: stopped at once by a second SIGINT", file=sys.stderr)
            return 128 + signal.SIGINT


def _until_stopped(options: argparse.Namespace, stop: Any) -> int:
    from gpuclf.train.distribution import rank
    from gpuclf.train.signals import Interrupted

    try:
        code = _answer(options, stop)
        stop.over()
        return code
    except Interrupted as interrupted:
        if rank() == 0:
            print(f"gpuclf: {interrupted}", file=sys.stderr)
        return interrupted.exit_code


def _answer(options: argparse.Namespace, stop: Any) -> int:
    """Runs the command, in a group with the other processes that torchrun has started, and tells a user's fault."""
    from gpuclf.data.atomic_write import no_space
    from gpuclf.faults import UserFault
    from gpuclf.train import distribution

    try:
        distribution.join_group()
        return int(options.run(options, stop))
    except UserFault as fault:
        _tell(fault)
    except distribution.PeerFailed:
        distribution.wait_until_told()
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        full = no_space(error, error.filename or "a file")
        if full is None:
            raise
        _tell(full)
    finally:
        distribution.leave_group()
    return USER_FAULT


def _tell(fault: Any) -> None:
    """Prints a fault; of several processes that meet it one does."""
    from gpuclf.report.console import print_fault
    from gpuclf.train.distribution import failure_told, first_to_fail

    if first_to_fail():
        print_fault(fault)
        failure_told()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpuclf", description="Trains classifiers of text: a whole grid x folds x seeds as one batch of models."
    )
    from gpuclf import __version__

    parser.add_argument("--version", action="version", version=f"gpuclf {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    overrides = {"nargs": "*", "metavar": "key=value", "help": "change the config: a.b=c, +a.b=c adds, ~a.b removes"}

    train = _command(commands, "train", _train, "run the experiment of a config")
    train.add_argument("config", type=Path, help="a YAML file")
    train.add_argument("overrides", **overrides)  # type: ignore[arg-type]

    resume = _command(commands, "resume", _resume, "continue an interrupted run to the same bits")
    resume.add_argument("folder", type=Path, metavar="RUN", help="a run folder")

    _add_uses_of_a_model(commands)

    compare = _command(commands, "compare", _compare, "which of several runs is better, and whether the data can tell")
    compare.add_argument(
        "systems",
        nargs="*",
        type=Path,
        metavar="RUN",
        help="a run, a predictions.tsv, or a table with columns gold, A, B",
    )
    figures = ("accuracy", "macro_f1", "micro_f1", "weighted_f1", "aspect_f1")
    compare.add_argument("--metric", choices=figures, default="accuracy")
    compare.add_argument("--samples", type=_at_least_one, default=10_000, help="of the bootstrap (default 10000)")
    compare.add_argument("--seed", type=int, default=0, help="of the bootstrap's draws (default 0)")
    compare.add_argument("--alpha", type=_share, default=0.05, help="chance of a false alarm (default 0.05)")
    compare.add_argument("--different-tests", action="store_true", help="the runs have independent test sets")
    compare.add_argument(
        "--counts",
        nargs=2,
        type=int,
        metavar=("B", "C"),
        help="McNemar's test of two counts: only A right, only B right",
    )
    compare.add_argument("--json", action="store_true", help="all figures as JSON")

    check = _command(commands, "check", _check, "validate config and data, report sizes, train nothing")
    check.add_argument("config", type=Path)
    check.add_argument("overrides", **overrides)  # type: ignore[arg-type]

    init = _command(commands, "init", _init, "a starter config and data to edit")
    init.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder")
    return parser


def _add_uses_of_a_model(commands: Any) -> None:
    """The commands that read a finished run's model."""
    from gpuclf.report.summarize import arguments as arguments_of_summarize

    evaluate = _command(commands, "eval", _eval, "figures of a run's model on a labelled file")
    evaluate.add_argument("folder", type=Path, metavar="RUN")
    evaluate.add_argument("file", type=Path, metavar="FILE", help="a labelled file in the run's data format")
    evaluate.add_argument("--json", action="store_true", help="print the figures as JSON")
    evaluate.add_argument(
        "--diagnose", action="store_true", help="how much of the error is features, model form, parameter estimates"
    )
    evaluate.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")

    predict = _command(commands, "predict", _predict, "classify documents, one output line a document")
    predict.add_argument("folder", type=Path, metavar="RUN")
    predict.add_argument("file", type=Path, metavar="FILE", nargs="?", help="default: standard input, one a line")
    predict.add_argument("--proba", action="store_true", help="the probability of every class")
    predict.add_argument("--format", choices=("tsv", "jsonl"), default="tsv", help="of the output (default tsv)")
    predict.add_argument("--input-format", metavar="FORMAT", help="default: the run's data format; stdin: lines")
    predict.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")

    show = _command(commands, "show", _show, "a run's model for a person: top features, confusions, sizes")
    show.add_argument("folder", type=Path, metavar="RUN")
    show.add_argument(
        "--features", type=int, default=8, metavar="N", help="features a class, or words a tag (default 8)"
    )
    show.add_argument(
        "--word", metavar="NAME", help="of models with features.by_word: that of one ambiguous word alone"
    )

    summarize = _command(commands, "summarize", arguments_of_summarize.run, arguments_of_summarize.ABOUT)
    arguments_of_summarize.add_arguments(summarize)

    export = _command(commands, "export", _export, "a run's model for other programs")
    export.add_argument("folder", type=Path, metavar="RUN")
    export.add_argument(
        "--to",
        choices=("text", "sklearn", "onnx", "arrays"),
        required=True,
        help="weights as lines, arrays, graphs; of a conditional random field: text or arrays",
    )
    export.add_argument("--out", type=Path, metavar="DIR", help="where the files go (default: RUN/export)")


def _command(commands: Any, name: str, run: Any, about: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about)
    parser.set_defaults(run=run)
    return parser


def _train(arguments: argparse.Namespace, stop: Any) -> int:
    from datetime import datetime

    from gpuclf.config import load
    from gpuclf.faults import UserFault
    from gpuclf.report.run_folder import RunFolder, default_path
    from gpuclf.train.distribution import PeerFailed, everyones, peer_failed, rank
    from gpuclf.train.signals import Interrupted

    loaded = load(arguments.config, arguments.overrides)
    options = loaded.options
    path = options.run.dir or default_path(options.run.root, options.name, datetime.now())
    made = RunFolder.create(path) if rank() == 0 else None
    try:
        if made is not None:
            made.write_overrides(arguments.overrides)
            made.write_config(loaded.resolved_yaml())
        return _run(loaded, RunFolder.open(everyones(path)[0]), stop)
    except UserFault:
        if made is not None:
            made.discard()
        raise
    except (PeerFailed, Interrupted):
        if made is not None and peer_failed():  # the launcher ends this process for another one's fault
            made.discard()
        raise


def _resume(arguments: argparse.Namespace, stop: Any) -> int:
    from gpuclf.config import load
    from gpuclf.report.run_folder import RunFolder

    folder = RunFolder.open(arguments.folder)
    if folder.finished:
        print(f"{folder.path} is finished; there is nothing to resume")
        return 0
    return _run(load(folder.config), folder, stop, resumes=True)


def _run(loaded: Any, folder: Any, stop: Any, resumes: bool = False) -> int:
    from gpuclf.faults import UserFault
    from gpuclf.report.finished_run import finish, working_on
    from gpuclf.train.run import run_experiment

    try:
        with working_on(folder, loaded.options) as observer:
            result = run_experiment(loaded.options, folder.path, observer, stop, resumes)
            if result is not None:  # else the first process has it
                finish(folder, loaded.options, loaded.resolved_yaml(), result, observer)
    except UserFault as fault:
        raise loaded.locate(fault) from fault
    return 0


def _opened(arguments: argparse.Namespace) -> Any:
    """The model of a run folder, on the device asked for: a Model, or of a run that induced tags a Tagger."""
    from gpuclf.train.devices import choose_device, prepare_process
    from gpuclf.train.model_file import load_model
    from gpuclf.train.model_store import task_of

    prepare_process(None)
    folder, device = arguments.folder.absolute(), choose_device(arguments.device)
    if task_of(folder) == "tag":
        from gpuclf.train.tagging.tagger_file import load_tagger

        return load_tagger(folder, device)
    return load_model(folder, device)


def _refuse(given: bool, option: str, model: Any) -> None:
    from gpuclf.faults import UserFault

    if given:
        raise UserFault(f"{option} has no meaning for {model.options.type}", remedy=f"leave {option} out")


def _eval(arguments: argparse.Namespace, stop: Any) -> int:
    from gpuclf.report.console import print_test
    from gpuclf.report.finished_run import shown_figures
    from gpuclf.report.strict_json import dump
    from gpuclf.report.word_table import print_words
    from gpuclf.train.evaluation import evaluate_file

    model = _opened(arguments)
    if model.options.task == "tag":
        from gpuclf.report.tagging.commands import print_evaluation

        _refuse(arguments.diagnose, "--diagnose", model)
        print_evaluation(model, arguments.file, arguments.json)
        return 0
    figures = evaluate_file(model, arguments.file)
    if figures is None:
        return 0  # another process prints
    diagnosis = _diagnosis(arguments, model, stop) if arguments.diagnose else None
    if diagnosis is not None:
        figures["diagnosis"] = diagnosis.to_json()
    if arguments.json:
        sys.stdout.write(dump(figures, indent=1).decode() + "\n")
    else:
        print_test(shown_figures(figures), rows_are=str(arguments.file))
        print_words({"": figures})
        if diagnosis is not None:
            from gpuclf.report.diagnosis_table import print_diagnosis

            print_diagnosis(diagnosis, model.options.type, arguments.file)
    return 0


def _diagnosis(arguments: argparse.Namespace, model: Any, stop: Any) -> Any:
    from gpuclf.config import load
    from gpuclf.report.diagnosis_table import diagnose_run
    from gpuclf.report.run_folder import RunFolder

    folder = RunFolder.open(arguments.folder)
    return diagnose_run(folder, load(folder.config).options, model, arguments.file, stop.raise_if_requested)


def _predict(arguments: argparse.Namespace, stop: Any) -> int:
    del stop
    from gpuclf.report.predict_command import predict

    read, given = sys.stdin.buffer, arguments
    predict(_opened(given), given.file, given.input_format, given.proba, given.format == "jsonl", read, sys.stdout)
    return 0


def _compare(arguments: argparse.Namespace, stop: Any) -> int:
    del stop
    from gpuclf.report.comparison import Settings
    from gpuclf.report.comparison_command import compare_counts, compare_files

    if arguments.counts is not None:
        compare_counts(arguments.systems, *arguments.counts, as_json=arguments.json)
        return 0
    named = (arguments.metric, arguments.samples, arguments.seed, arguments.alpha, arguments.different_tests)
    compare_files(arguments.systems, Settings(*named), as_json=arguments.json)
    return 0


def _show(arguments: argparse.Namespace, stop: Any) -> int:
    del stop
    from gpuclf.report.explain import print_model
    from gpuclf.report.run_facts import run_facts
    from gpuclf.report.run_folder import RunFolder
    from gpuclf.train.model_store import task_of

    folder = RunFolder.open(arguments.folder)
    if arguments.word is None and task_of(folder.path) == "tag":
        from gpuclf.report.tagging.commands import show_tagger

        show_tagger(folder, arguments.features)
        return 0
    print_model(run_facts(folder, arguments.word), features=arguments.features)
    return 0


def _export(arguments: argparse.Namespace, stop: Any) -> int:
    del stop
    import torch

    from gpuclf.report.export.command import export, left_out
    from gpuclf.train.model_file import load_model

    run = arguments.folder.absolute()
    out = run / "export" if arguments.out is None else arguments.out.absolute()
    model = load_model(run, torch.device("cpu"))
    for path in export(model, arguments.to, out):
        print(f"wrote {path}")
    missing = left_out(model, arguments.to)
    if missing is not None:
        print(f"note: {missing}", file=sys.stderr)
    return 0


def _check(arguments: argparse.Namespace, stop: Any) -> int:
    del stop
    from gpuclf.config import load
    from gpuclf.faults import UserFault
    from gpuclf.report.plan_table import ReadingObserver, print_plan
    from gpuclf.train.memory_plan import plan_memory

    loaded = load(arguments.config, arguments.overrides)
    try:
        print_plan(plan_memory(loaded.options, ReadingObserver()))
    except UserFault as fault:
        raise loaded.locate(fault) from fault
    return 0


def _init(arguments: argparse.Namespace, stop: Any) -> int:
    del stop
    from gpuclf.data.starter import write_starter

    written = write_starter(arguments.folder)
    for path in written:
        print(f"wrote {path}")
    print(f"next: gpuclf train {written[0]}")
    return 0


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number between 0 and 1")
    return value
