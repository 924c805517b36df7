"""Items of lesson 06: padding masks, causal masks, and softmax with a mask."""
