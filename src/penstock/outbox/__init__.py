"""Jobs for an engine in another place, written in the caller's transaction, and brought there by relays."""
