"""Drawings of the model: its parts, and how they are joined."""
