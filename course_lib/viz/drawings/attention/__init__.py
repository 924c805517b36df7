"""Drawings of attention: who looks at whom, how much, and what is computed for it."""
