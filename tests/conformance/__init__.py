"""The contract of `penstock.engine`, held against every engine."""
