"""Facts(l, k, m): any facts of these amounts."""
