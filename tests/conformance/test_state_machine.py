"""Random lives of jobs: a model in plain Python beside each engine, compared after every step.

Nothing is forgotten: workers that were given up go on claiming, and tokens long lost go on settling.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from conformance.machine.keeping import Life
from conftest import REDIS_KINDS, lent, make_place

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
# A failure is first shrunk, for up to five minutes, and then told.
UNHURRIED = pytest.mark.timeout(0 if NIGHTLY else 600)
SLOWLY = 40  # lives on PostgreSQL by day: there one takes a second


@UNHURRIED
@pytest.mark.parametrize("kind", ["sqlite", "postgres", *REDIS_KINDS])
def test_every_life_of_a_job_is_as_the_model_says(kind, tmp_path, request):
    phases = (Phase.reuse, Phase.generate, Phase.shrink)  # explaining would take longer than all the rest
    lives = SLOWLY if kind == "postgres" and not NIGHTLY else settings().max_examples
    with ExitStack() as living:

        def life() -> Life:
            living.close()  # the one before has ended
            return Life(living.enter_context(lent(make_place(kind, tmp_path, request))))

        run_state_machine_as_test(life, settings=settings(phases=phases, max_examples=lives))
