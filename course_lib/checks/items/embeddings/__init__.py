"""Items of lesson 02: token embeddings plus positional encodings."""
