"""Grants, signatures, policies, the one verdict."""
