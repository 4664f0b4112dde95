"""What people say about each business: snippets of reviews, clustered by aspect, with a polarity."""
