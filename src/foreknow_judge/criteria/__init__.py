"""Criteria: what each criterion measures of groups."""
