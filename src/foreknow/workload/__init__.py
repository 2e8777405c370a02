"""What a release answers to queries about counts, and how far off that is."""
