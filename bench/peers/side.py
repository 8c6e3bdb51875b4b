"""The command line of a peer's script: prints a JSON figure, or works until it is ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any


def main(verbs: dict[str, Callable[..., Any]]) -> None:
    """`prepare URL`, `enqueue URL JOBS CAP`, `bulk URL JOBS`, `pace URL JOBS`, `work URL SLOTS`."""
    verb, url, *numbers = sys.argv[1:]
    print(json.dumps(verbs[verb](url, *(float(number) for number in numbers))))
