"""Processes for the tests, born of one that has imported everything: starting one takes milliseconds."""

from __future__ import annotations

import multiprocessing
import os
import sys

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "pytest",
        "acceptance.test_transactions",
        "aiosqlite",
        "asyncpg",
        "conformance.test_kept_races",
        "django.db.backends.postgresql.base",
        "django.db.backends.sqlite3.base",
        "penstock.engines.postgres.engine",
        "penstock.engines.postgres.lent",
        "penstock.engines.redis.engine",
        "penstock.engines.sqlite.engine",
        "penstock.engines.sqlite.lent",
        "penstock.tasks.settings",
        "sqlalchemy.dialects.postgresql",
        "sqlalchemy.dialects.sqlite",
        "sqlalchemy.ext.asyncio",
    ]
)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # where it looks for them
