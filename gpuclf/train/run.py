"""Runs an experiment, whatever it learns: readies the process, finds the checkpoint, calls the task's own stages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Union

from gpuclf.data.atomic_write import remove_leftovers
from gpuclf.faults import UserFault
from gpuclf.train.checkpoint import Checkpoint, load_latest
from gpuclf.train.devices import choose_device, prepare_process
from gpuclf.train.distribution import everyones, rank, world
from gpuclf.train.experiment import ExperimentResult, run_classification
from gpuclf.train.observer import Observer
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.run_context import RunContext, checkpoint_folder
from gpuclf.train.signals import Interrupted, StopRequest
from gpuclf.train.stopwatch import Stopwatch

if TYPE_CHECKING:
    from gpuclf.train.tagging.experiment import TaggingResult

Result = Union[ExperimentResult, "TaggingResult"]


def run_experiment(
    options: ExperimentOptions, folder: Path, observer: Observer, stop: StopRequest, resumes: bool = False
) -> Result | None:
    """Runs an experiment in `folder` (there must be one), from its newest whole checkpoint if `resumes`.

    Under torchrun the processes share the grid; the first does the rest, the others get None.
    Raises UserFault for faults of config or data, Interrupted after a signal.
    """
    prepare_process(options.train.threads)
    device = choose_device(options.device)
    saved = _newest_checkpoint(folder, observer) if resumes else None
    watch = Stopwatch(saved.values["seconds"] if saved is not None else None)
    context = RunContext(options, device, folder, observer, stop, watch, saved)
    try:
        return _stages(context)
    except Interrupted:
        context.save_rest()
        raise


def _stages(context: RunContext) -> Result | None:
    """The stages of the learner's task; those of another one are not even imported."""
    if context.options.model.task == "tag":
        from gpuclf.train.tagging.experiment import run_tagging

        return run_tagging(context)
    return run_classification(context)


def _newest_checkpoint(folder: Path, observer: Observer) -> Checkpoint | None:
    """What this process goes on from; the log is cut back to it. The first process tells what was found by all."""
    notes: list[str] = []
    remove_leftovers(checkpoint_folder(folder))
    if rank() == 0:
        remove_leftovers(folder)
    saved = load_latest(
        checkpoint_folder(folder), notes.append, lambda checkpoint: observer.holds(checkpoint.values["log"])
    )
    found = everyones((notes, saved is not None, None if saved is None else saved.values["processes"]))
    for message in [message for messages, *_ in found for message in messages]:
        observer.note(message)
    for _, _, processes in found:
        if processes not in (None, world()):
            raise UserFault(
                f"the run was begun by {processes} process(es), and now there are {world()}",
                file=folder,
                remedy=f"resume it with {processes}",
            )
    for number, (_, there, _) in enumerate(found):
        if not there:
            whose = f" by process {number}" if world() > 1 else ""
            observer.note(f"there is no whole checkpoint{whose} to go on from; it starts from the beginning")
    observer.resumed(0 if saved is None else saved.values["log"])
    return saved
