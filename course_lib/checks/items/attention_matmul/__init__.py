"""Items of lesson 04: scaled dot-product attention and multi-head attention, with matmul."""
