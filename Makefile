# Everything a developer or CI does. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := bash
PYTHON ?= python3
BIN := .venv/bin
MANAGE := DEBUG=1 $(BIN)/python manage.py
READY := .venv/.ready
# Tests start hundreds of processes: with this set, as in many container images, each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup setup-django6 demo serve test test-all test-django6 check check-types check-rest format docs audit mutants repeat soak chaos bench bench-sides clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Jobyard needs Python 3.11 or newer; name one with PYTHON=…"; exit 1; }
	@echo "Setting up .venv (once)…"
	@$(PYTHON) -m venv .venv
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[project,api,metrics,redis,remote,tasks,videos,test]'
	@touch $(READY)

setup: $(READY) ## make .venv with everything in it

demo: $(READY) ## run a handful of real jobs on the embedded database
	@$(MANAGE) migrate --verbosity 0
	@$(MANAGE) demo

serve: $(READY) ## web admin, worker and reaper in one terminal; Ctrl-C stops them
	@PORT=$$($(BIN)/python -m project.ports) && $(MANAGE) migrate --verbosity 0 && $(MANAGE) first_admin && \
		echo "Open http://127.0.0.1:$$PORT/" && \
		{ DEBUG=1 PATH="$(CURDIR)/$(BIN):$$PATH" PORT=$$PORT $(BIN)/honcho start || [ $$? = 130 ]; } # 130: Ctrl-C

test: $(READY) ## all checks, the suite on SQLite and on PostgreSQL, a minute of chaos, Django 6 (a quarter of an hour)
	@$(MAKE) --no-print-directory -j3 check-types check-rest setup-django6
	@DEBUG=1 $(BIN)/python -m tests.engines
	@DEBUG=1 $(BIN)/python -m tests.engines postgres tests/chaos/test_chaos.py
	@$(MAKE) --no-print-directory test-django6

test-all: ## the same with every variation of a test (twice as long)
	@THOROUGH=1 $(MAKE) --no-print-directory test

check: $(READY) ## format, lint, bandit, types, layers, Django checks, migrations
	@$(MAKE) --no-print-directory -j2 check-types check-rest

check-types: $(READY)
	@DEBUG=1 $(BIN)/mypy --no-error-summary

check-rest: $(READY)
	@$(BIN)/ruff format --check --quiet . || { echo "Run \`make format\`."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/bandit --quiet --recursive --configfile pyproject.toml --severity-level medium jobs project > .venv/bandit.log 2>&1 || { cat .venv/bandit.log; exit 1; }
	@$(BIN)/lint-imports --no-cache > .venv/lint-imports.log 2>&1 || { cat .venv/lint-imports.log; exit 1; }
	@$(MANAGE) check --fail-level WARNING
	@$(MANAGE) makemigrations --check --dry-run
	@SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(50))') ALLOWED_HOSTS=jobs.example.org \
		DATABASE_URL=postgres://jobyard@db.example.org/jobyard $(BIN)/python manage.py check --deploy --fail-level WARNING

format: $(READY) ## format and tidy the code
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

DOCS_READY := .venv/.docs

$(DOCS_READY): $(READY)
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[project,api,redis,videos,test,docs]'
	@touch $(DOCS_READY)

docs: $(DOCS_READY) ## the pages of docs/ as a site in build/docs; a broken link fails
	@rm -rf build/docs
	@$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs
	@echo "Open build/docs/index.html"

AUDIT_READY := .venv/.audit

$(AUDIT_READY): $(READY)
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[audit]'
	@touch $(AUDIT_READY)

# With --strict a package of which nothing could be found out is a failure: what was not checked is not clean.
audit: $(AUDIT_READY) ## the pinned versions against known advisories, which needs the Internet
	@$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt || \
		{ echo "Advisories were found, or (see above) their source could not be reached: then nothing was checked."; exit 1; }

# Django 6 needs Python 3.12; where there is one, the suite runs on it, too.
NEWER := $(shell for p in python3.14 python3.13 python3.12 $$(ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.1[2-9].*/bin/python3 2>/dev/null | sort -rV); do \
	$$p -c 'import venv, ensurepip' 2>/dev/null && echo $$p && break; done)
READY6 := .venv-django6/.ready

$(READY6): pyproject.toml constraints.txt constraints-django6.txt
	@$(NEWER) -m venv .venv-django6
	@grep -v -i '^django==' constraints.txt | cat - constraints-django6.txt > .venv-django6/constraints.txt
	@PIP_CONSTRAINT=.venv-django6/constraints.txt .venv-django6/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[project,api,metrics,redis,remote,videos,test]'
	@touch $(READY6)

# What Django or Python could change; the rest of the suite would only take its time again.
ON_DJANGO6 := $(addprefix tests/,models tasks test_checks.py testing/test_drain.py lifecycle/test_enqueue.py lifecycle/test_claim.py \
	admin/test_job_list.py admin/test_dashboard.py admin/test_periodic.py api/test_document.py worker/test_runworker.py \
	videos/test_pages.py videos/test_admin.py)

setup-django6: $(if $(NEWER),$(READY6))
	@:

test-django6: setup-django6 ## what Django could change on Django 6, where a newer Python is found
ifeq ($(NEWER),)
	@echo "Django 6: no Python 3.12 or newer found, left out"
else
	@DEBUG=1 .venv-django6/bin/python -m tests.engines sqlite -n 3 --dist loadfile --no-loadscope-reorder $(ON_DJANGO6)
endif

mutants: $(READY) ## break each guard in turn: a test must notice (minutes)
	@DEBUG=1 $(BIN)/python -m tests.mutants

# On SQLite, what needs no process does not change from run to run: there only these are repeated.
PROCESSES_ON_SQLITE := tests/worker/test_runworker.py tests/worker/test_sharing.py

repeat: $(READY) ## the tests with real worker processes, TIMES=20 times in a row (an hour)
	@for number in $$(seq $${TIMES:-20}); do \
	  echo "run $$number"; \
	  DEBUG=1 $(BIN)/python -m tests.engines postgres -n 4 --dist worksteal tests/worker tests/faults || exit 1; \
	  DEBUG=1 $(BIN)/python -m tests.engines sqlite -n 4 --dist worksteal $(PROCESSES_ON_SQLITE) || exit 1; \
	done

soak: $(READY) ## the state machine, and what callers may send, with many more examples (an hour)
	@DEBUG=1 JOBYARD_EXAMPLES=$${EXAMPLES:-2000} $(BIN)/python -m tests.engines tests/contract tests/security tests/api/worker/test_anything.py

chaos: $(READY) ## everything goes wrong at once, for SECONDS=60, by SEED=1; says whether all promises were kept
	@DEBUG=1 $(BIN)/python -m tests.chaos --keep --seconds $(or $(SECONDS),60) --seed $(or $(SEED),1)

bench-sides: .venv-sides/.ready ## install the queues that `make bench` puts beside Jobyard

.venv-sides/.ready: benchmarks/sides/requirements.txt
	@$(PYTHON) -m venv .venv-sides
	@.venv-sides/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/sides/requirements.txt
	@touch .venv-sides/.ready

bench: $(READY) ## the figures of docs/performance.md, on a private PostgreSQL; QUICK=1 for a few minutes
	@DEBUG=1 $(BIN)/python -m benchmarks.run $(if $(QUICK),--quick)

clean: ## remove what was made here: environments, databases, media
	rm -rf .venv .venv-django6 .venv-sides build var media staticfiles .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
