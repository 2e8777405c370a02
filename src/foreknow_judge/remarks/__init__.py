"""Remarks: what verdicts do not cover, and how they differ from a certificate."""
