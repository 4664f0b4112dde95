"""Side by side with peers on one machine: equal answers first, then the ratio of times."""

import gpuclf  # noqa: F401 (as in every command, before torch is loaded: it says how torch's threads wait)
