"""The meaning of a job, without storage, clock or network. Standard library only."""
