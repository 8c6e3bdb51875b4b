"""Jobs for an engine in another place, written in the caller's own transaction, and brought there by relays."""
