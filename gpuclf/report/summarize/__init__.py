"""`gpuclf summarize`: what people say about each business, as JSON and as pages to read."""
