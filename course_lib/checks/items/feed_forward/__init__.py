"""Items of lesson 03: the feed-forward network, the residual connection and the norm."""
