"""Classical text classifiers as batched tensor programs: one config is one batch of exact models."""

__version__ = "0.1.0"
