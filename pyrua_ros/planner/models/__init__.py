"""Who writes the cells: a language model over HTTP, the built-in grammar, a recording, or a person."""
