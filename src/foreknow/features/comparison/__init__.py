"""Methods at several limits: each release is measured and thrown away."""
