"""Items of lesson 01: sinusoidal positional encodings."""
