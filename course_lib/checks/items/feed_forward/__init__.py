"""Items of lesson 03: the feed-forward network, the residual and the norm."""
