"""Publish: labels, tables, certificate, and what is written."""

# The files that `publish` writes beside the tables; the last three are for the owner only.
CERTIFICATE, REPORT = "certificate.json", "report.html"
LATTICE, OWNER, PRIORS = "lattice.html", "owner.json", "priors.json"
