# Everything a contributor runs. Each target installs what it needs, into .venv.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export UV_PYTHON_DOWNLOADS := never
export UV_COMPILE_BYTECODE := 1
# Hundreds of processes start in the tests; each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
# Half of the tests wait for processes and servers more than they work.
TESTERS ?= $(shell echo $$(( ($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 )))

.PHONY: help demo ui bundle-check screenshots dashboard-scale test acceptance check format coverage bench bench-scale chaos zombies crashes effects control transactions schedules outbox ledger own-table fuzz listeners node dst lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

$(VENV)/.uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv
	@touch $@

$(VENV)/.run: $(VENV)/.uv requirements/run.txt pyproject.toml
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/run.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.uv requirements/dev.txt pyproject.toml
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
	@touch $@ $(VENV)/.run

demo: $(VENV)/.run ## Watch a shop's jobs run, fail, retry and recover, here and in the dashboard, until Ctrl-C
	@$(MAKE) --no-print-directory ui || echo "The dashboard could not be built (see above): the demo runs without it."
	@$(BIN)/penstock demo

UI_SOURCES := $(shell find ui -path ui/node_modules -prune -o -type f -print)
UI := src/penstock/web/static/manifest.json

ui: $(UI) ## Build the dashboard

# Node builds it: the system's, else that of a wheel.
NPM := PATH="$$PATH:$(CURDIR)/$(BIN)" npm --prefix ui --loglevel=error

$(VENV)/.node: $(VENV)/.uv requirements/node.txt
	@command -v npm > /dev/null || { echo "Getting Node, to build the dashboard"; \
	  $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/node.txt; }
	@touch $@

ui/node_modules/.installed: ui/package.json ui/package-lock.json | $(VENV)/.node
	@$(NPM) ci --no-progress --no-fund --no-audit
	@touch $@

$(UI): ui/node_modules/.installed $(UI_SOURCES)
	@echo "Building the dashboard"
	@$(NPM) run --silent check
	@$(NPM) run --silent build

bundle-check: $(VENV)/.dev ui ## The dashboard's bundle: small, the same each time, in the wheel, not in git
	$(BIN)/python -m pytest -q -s tests/unit/test_bundle.py

screenshots: $(VENV)/.dev ui ## Take the pictures in docs/images/dashboard anew, from a running demo
	$(BIN)/python -m docs.screenshots

dashboard-scale: $(VENV)/.dev ui ## Measure every page of the dashboard with 1 M waiting and 1 M finished jobs
	$(BIN)/python -m bench.dashboard

test: $(VENV)/.dev ## Run the whole test suite (starts its own servers)
	@tests/provision
	@$(MAKE) --no-print-directory ui
	$(BIN)/python -m pytest -q -n $(TESTERS) --dist worksteal

acceptance: $(VENV)/.dev ## Run the acceptance tests on every engine, each on all of them
	@$(MAKE) --no-print-directory ui
	ACCEPTANCE=all $(BIN)/python -m pytest -q -n $(TESTERS) --dist worksteal tests/acceptance

conformance: $(VENV)/.dev ## Run the engines' contract on every variant: SQLite in a file and in memory, PostgreSQL, Redis, Valkey
	CONFORMANCE=all $(BIN)/python -m pytest -q -n $(TESTERS) --dist worksteal tests/conformance

check: $(VENV)/.dev ## Format, lint, types, import contracts, generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m docs.generate --check

format: $(VENV)/.dev ## Format the code and write the generated docs
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m docs.generate

coverage: $(VENV)/.dev ## Run the tests with coverage; fail below 95 % in model, engines and runtime
	COVERAGE_PROCESS_START=pyproject.toml $(BIN)/coverage run -m pytest -q -n auto
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=95 --include='src/penstock/model/*,src/penstock/engines/*,src/penstock/runtime/*'

bench: $(VENV)/.dev ## Measure enqueue, drain, latency and idle cost beside the raw limit
	$(BIN)/python -m bench

bench-http: $(VENV)/.dev ## Measure enqueueing over HTTP into PostgreSQL on one core, and kill the server in the middle
	$(BIN)/python -m bench.http

bench-metrics: $(VENV)/.dev ## Measure the drain with metrics and without, turn about
	$(BIN)/python -m bench.metrics

bench-scale: $(VENV)/.dev ## Measure the claim with 1 M waiting and 5 M finished jobs
	$(BIN)/python -m bench.scale

chaos: $(VENV)/.dev ## Kill workers at random under load, crowd one SQLite file; check every job's history
	$(BIN)/python -m tests.chaos.kills
	$(BIN)/python -m tests.chaos.contention

zombies: $(VENV)/.dev ## Stop workers for twice their lease; every late settlement must be refused
	$(BIN)/python -m tests.chaos.zombies

crashes: $(VENV)/.dev ## Kill PostgreSQL and Redis under load, cut 400 answers; measure what each setting of Redis loses
	$(BIN)/python -m tests.chaos.restarts
	$(BIN)/python -m tests.chaos.cuts
	$(BIN)/python -m tests.chaos.losses

effects: $(VENV)/.dev ## Kill workers at every crash point around an effect, 50 times each; every effect is made once
	$(BIN)/python -m tests.chaos.effects

control: $(VENV)/.dev ## Rates, limits per key, fairness and breakers over eight workers some of which die
	$(BIN)/python -m tests.chaos.control

transactions: $(VENV)/.dev ## Enqueue in 1,000 random interleavings of the callers' own transactions; kill callers in theirs
	TRANSACTIONS=full $(BIN)/python -m pytest -q -rP tests/acceptance/test_interleavings.py tests/acceptance/test_transactions.py

schedules: $(VENV)/.dev ## Kill and restart eight schedulers at random over 200 ticks; each tick is one job
	$(BIN)/python -m tests.chaos.schedules

outbox: $(VENV)/.dev ## Kill relays at random, take Redis away for 30 s; each of 50,000 rows has its effect once
	$(BIN)/python -m tests.chaos.outbox
	$(BIN)/python -m tests.chaos.outbox_points

ledger: $(VENV)/.dev ## Flush and kill Redis under load, kill workers, also 50 times between any two writes: every job in the ledger ends once
	$(BIN)/python -m tests.chaos.ledger
	$(BIN)/python -m tests.chaos.ledger --ledger sqlite --jobs 5000 --losses 4
	$(BIN)/python -m tests.chaos.ledger_points

own-table: $(VENV)/.dev ## Kill one of eight instances over 205,000 rows of a user's own table every second; each has one output
	$(BIN)/python -m tests.chaos.own_table

listeners: $(VENV)/.dev ## 500 clients hear live events, 50 of them never read, 50 vanish: memory and the latency of jobs
	$(BIN)/python -m tests.chaos.listeners

node: $(VENV)/.dev ## Job events reach Socket.IO clients on two Python replicas and on one of Node (needs node and npm)
	$(BIN)/python -m tests.node.reach

fuzz: $(VENV)/.dev ## Send thousands of made-up requests to the HTTP service, by its OpenAPI document
	PYTHONPATH=tests $(BIN)/python -m web.fuzz

dst: $(VENV)/.dev ## Compare schedules with every minute of 2015 to 2035 in 30 zones (40 minutes)
	$(BIN)/python -m tests.unit.dst_oracle

lock: $(VENV)/.uv ## Write the hashed requirements anew
	for name in run dev node; do $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	  --python-version 3.11 requirements/$$name.in -o requirements/$$name.txt; done

clean: ## Remove what was built
	rm -rf $(VENV) dist .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
