"""Alerts: rules over what is measured, told once, to those who asked for it."""
