"""Diagrams: the whole model, and the attention of the paper's Figure 2."""
