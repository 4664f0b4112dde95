"""A process that has everything imported and every kernel loaded, and forks a child for each `gpuclf` command.

Starting Python anew for each of a hundred interrupted runs would take a minute of imports each; a forked child is as
much a process of its own, and can be killed. Requests and answers are JSON lines. Run as a program.

request: {"commands": [[...] a process], "folder", "hook", "file_size"}; a hook {"target", "call", "match", "signals",
"after"} sends signals to the child itself at the n-th call of a function whose arguments hold the text `match`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any

DEADLINE = 120.0


def main() -> None:
    warm, scratch = json.loads(sys.argv[1]), Path(sys.argv[2])
    for number, arguments in enumerate(warm):
        code = _answer(arguments, scratch / f"warm{number}.out", scratch / f"warm{number}.err")
        assert code == 0, (scratch / f"warm{number}.err").read_text()
    print("ready", file=sys.__stdout__, flush=True)
    for number, line in enumerate(sys.stdin):
        print(json.dumps(_serve(json.loads(line), scratch / str(number))), file=sys.__stdout__, flush=True)


def _serve(request: dict[str, Any], scratch: Path) -> dict[str, Any]:
    scratch.mkdir()
    processes, port = len(request["commands"]), str(_free_port())
    children = {}
    for rank, arguments in enumerate(request["commands"]):
        child = os.fork()
        if child == 0:
            if processes > 1:
                os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes)}
                os.environ |= {"LOCAL_WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            _child(request, arguments, scratch / f"{rank}.out", scratch / f"{rank}.err")
        children[child] = rank
    codes: dict[int, int] = {}
    end = time.monotonic() + DEADLINE
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            codes[children.pop(child)] = os.waitstatus_to_exitcode(status)
            if processes > 1 and codes and any(codes.values()):
                for other in children:  # as torchrun does
                    os.kill(other, signal.SIGTERM)
        elif time.monotonic() > end:
            for other in children:
                os.kill(other, signal.SIGKILL)
            end = float("inf")
        else:
            time.sleep(0.005)
    texts = {kind: [(scratch / f"{rank}.{kind}").read_text() for rank in range(processes)] for kind in ("out", "err")}
    return {"codes": [codes[rank] for rank in range(processes)], **texts}


def _child(request: dict[str, Any], arguments: list[str], out: Path, err: Path) -> None:
    code = 70
    try:
        os.chdir(request["folder"])
        if request["hook"] is not None:
            _install(**request["hook"])
        if request["file_size"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_size"],) * 2)
        code = _answer(arguments, out, err)
    finally:
        os._exit(code)


def _answer(arguments: list[str], out: Path, err: Path) -> int:
    """What `python -m gpuclf ARGUMENTS` would answer."""
    from gpuclf.cli import main as gpuclf

    with (
        out.open("w") as stdout,
        err.open("w") as stderr,
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        try:
            return gpuclf(arguments)
        except SystemExit as stop:
            return int(stop.code or 0)
        except BaseException:
            traceback.print_exc()
            return 1


def _install(
    target: str, call: int = 1, match: str = "", signals: tuple[str, ...] = ("SIGKILL",), after: bool = False
) -> None:
    module_name, _, name = target.rpartition(".")
    module = importlib.import_module(module_name)
    original, calls = getattr(module, name), 0

    def hooked(*values: Any, **named: Any) -> Any:
        nonlocal calls
        calls += match in repr(values)
        due = calls == call and match in repr(values)
        result = original(*values, **named) if after or not due else None
        if due:
            for number in signals:
                os.kill(os.getpid(), getattr(signal, number))
        return result if after or not due else original(*values, **named)

    setattr(module, name, hooked)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
