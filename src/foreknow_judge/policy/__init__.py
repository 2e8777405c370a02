"""Policy: what can be asked, and how a policy or a certificate says it."""
