"""Drawings of learning: of training, and of measuring what was learnt."""
