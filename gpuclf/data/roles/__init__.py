"""Semantic roles: phrase-structure trees, what PropBank marks in them, and the features of an argument of a verb."""
