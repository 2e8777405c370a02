"""A first policy for a table: roles, hierarchies, limits, and the file that says them."""
