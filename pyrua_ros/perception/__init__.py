"""Pixels to points and objects."""
