"""Runs the model's cells: a sandboxed Jupyter kernel and its client."""
