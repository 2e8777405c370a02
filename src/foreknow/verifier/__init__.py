"""Verifier: reads a release as it was written, and judges it afresh."""
