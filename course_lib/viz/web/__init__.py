"""What becomes HTML that needs no kernel, no network and no second file."""
