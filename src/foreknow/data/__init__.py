"""Data: the raw table, the release, and the counts that everything else is asked of."""
