"""Items of lesson 07: encoder block, decoder block, and pre-norm."""
