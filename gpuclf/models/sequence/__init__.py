"""Models of sequences: linear-chain conditional random fields, and the content structure of documents."""
