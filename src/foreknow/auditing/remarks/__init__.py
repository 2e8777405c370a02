"""Remarks: what stands beside verdicts."""
