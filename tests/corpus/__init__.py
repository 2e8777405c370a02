"""A fixed corpus: what small tables, policies, methods and seeds give."""
