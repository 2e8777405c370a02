"""Labels of groups: how they are made, and what they stand for."""
