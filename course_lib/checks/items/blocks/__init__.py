"""Items of lesson 07: the encoder's and the decoder's block."""
