"""Published models: their configurations, and their weights from a file."""
