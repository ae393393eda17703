"""Robots: each backend puts one on the same topics."""
