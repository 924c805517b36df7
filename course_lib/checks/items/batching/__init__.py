"""Items of lesson 09: sentences of different lengths, side by side."""
