"""Networks for documents (Eisenstein 2018, chapter 3): feedforward over bags of words, convolution over sequences."""
