"""Add exercise items, and measure how sharp their probes are."""
