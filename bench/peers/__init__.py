"""The peers: each a script for a virtualenv of its own; `side` says which verbs it has."""
