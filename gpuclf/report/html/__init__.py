"""report.html: one self-contained page about a finished run."""
