"""Plots of tensors, tokens and training runs, drawn by Matplotlib."""
