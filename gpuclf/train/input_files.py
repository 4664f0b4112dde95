"""The files that an experiment will read are looked for before anything is read or trained."""

from __future__ import annotations

from gpuclf.data.paths import require_file
from gpuclf.faults import UserFault, UserFaults
from gpuclf.train.options import ExperimentOptions

_MAY_BE_FOLDERS = ("data.train", "validation.file", "test.file")


def require_inputs(options: ExperimentOptions) -> None:
    """Raises one fault for every input file that is not there, each with its key."""
    files = {
        "data.train": options.data.train,
        "data.labels": options.data.labels,
        "validation.file": options.validation.file if options.validation is not None else None,
        "features.vectors": getattr(options.features, "vectors", None),
        "features.word_classes": getattr(options.features, "word_classes", None),
        "test.file": options.test.file if options.test is not None else None,
    }
    files |= {f"data.unlabelled.{place}": file for place, file in enumerate(options.data.unlabelled)}
    faults = []
    for key, file in files.items():
        try:
            if file is not None:
                require_file(file, key=key, folder=key in _MAY_BE_FOLDERS)
        except UserFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0] if len(faults) == 1 else UserFaults(faults)
