"""Why a job does not run: what holds it back, and what to do about it.

`gather` looks around a job, `explain` judges what was seen. Several things may hold a job back at once: all
are told, first the one that has to give way first.
"""

from __future__ import annotations

from penstock.why.causes import Because, Cause, Explanation
from penstock.why.explaining import explain, explain_away, explain_record
from penstock.why.gathering import gather

__all__ = ["Because", "Cause", "Explanation", "explain", "explain_away", "explain_record", "gather"]
