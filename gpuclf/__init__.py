"""Classical text classifiers as batched tensor programs: one config is one batch of exact models."""

import os

__version__ = "0.1.0"

# Kernels of ours run on threads of their own. torch's OpenMP threads are to sleep meanwhile, not to spin for the next
# parallel region on the same processors; what the user has set wins. Read when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
