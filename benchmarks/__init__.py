"""Side by side with peers on one machine: equal answers first, then the ratio of times."""
