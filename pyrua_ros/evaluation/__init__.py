"""Benchmarks: each prints a table and writes figures as JSON."""
