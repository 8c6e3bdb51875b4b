"""The HTTP service: parses, asks `ops`, renders."""
