"""Find what is wrong with an answer: try probes, name misconceptions, describe differences."""
