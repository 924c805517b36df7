"""Drawings of words: as ids, vectors, positions, batches, and as what comes next."""
