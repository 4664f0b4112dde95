"""A speed is reported only on green: the tests of what is measured run first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def require_green(tests: Sequence[str]) -> None:
    """Runs these test files (relative to the repository); ends the program when one is missing or red."""
    missing = [test for test in tests if not (ROOT / test).is_file()]
    if missing:
        sys.exit(f"no times without tests: {', '.join(missing)} is missing")
    # Order and warnings are left aside: another machine's libraries may warn, and lack the plugin for random order.
    plugins = ["-p", "no:cacheprovider", "-p", "no:randomly"]
    settings = ["-m", "not slow", "-o", "addopts=--import-mode=importlib", "-W", "default"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *settings, *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    closing = done.stdout.strip().rpartition("\n")[2]
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nno times on red: {' '.join(tests)}")
    print(f"green: {' '.join(tests)}: {closing}", flush=True)
