"""Unsupervised taggers: word classes from raw text."""
