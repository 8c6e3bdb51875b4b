"""Penstock: background jobs for Python."""
