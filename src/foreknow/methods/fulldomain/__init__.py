"""FullDomain: one level of generalization per column."""
