"""What a tagging run shows and writes: tags with their words, transitions, tagged text, the page."""
