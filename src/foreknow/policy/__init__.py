"""Policy: requirements, their limits, and the file that holds them."""
