"""The command line: it parses, calls `ops`, and renders."""
