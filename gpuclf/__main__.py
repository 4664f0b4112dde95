"""`python -m gpuclf`, also what torchrun starts."""

from __future__ import annotations

import sys

from gpuclf.cli import main

if __name__ == "__main__":
    sys.exit(main())
