# What a person does with a checkout. `make` alone lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
DEMO := .demo/lj-liquid-viscosity
WORKERS ?= 2

export PATH := $(BIN):$(PATH)
# One core a process: steps and tests run beside each other.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-queues lint docs wheel clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  PYTHON=python3.12 make ... takes another Python for a new $(VENV)"

# An editable install: what is changed in src/, workflow/ or schemas/ counts at once.
$(VENV)/.installed-md: setup.cfg pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[md]'
	@touch $@

$(VENV)/.installed-dev: setup.cfg pyproject.toml | $(VENV)/bin/pip
	$(BIN)/pip install --quiet --editable '.[dev,md,agents,xrd]'
	@touch $@ $(VENV)/.installed-md

# A gigabyte of AmberTools and its company: for campaigns of host_guest, and for the tests that build real complexes.
$(VENV)/.installed-chem: setup.cfg pyproject.toml $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --editable '.[dev,md,agents,xrd,chem]'
	@touch $@

# Executors are imported at every start of Snakemake: what tests of queues need stays out of the others' way.
$(VENV)/.installed-hpc: setup.cfg pyproject.toml $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --editable '.[dev,md,agents,hpc,xrd]' globus-compute-endpoint
	@touch $@

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is older than 3.11; give a newer one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

# The demo remembers its key in a configuration of its own; yours is not touched.
demo: export XDG_CONFIG_HOME := $(CURDIR)/.demo/config
demo: $(VENV)/.installed-md ## Run campaigns/lj-liquid-viscosity to a verified viscosity and a report, offline
	@if [ -e .demo ]; then mv .demo ".demo.$$(date +%Y%m%d-%H%M%S)"; fi
	@mkdir .demo && cp -R campaigns/lj-liquid-viscosity $(DEMO)
	@sophron profile install local > /dev/null
	@ssh-keygen -q -t ed25519 -N '' -C 'Sophron demo key' -f .demo/demo_key
	@echo '*** .demo/demo_key is a DEMO KEY, made just now, without a passphrase. It signs for the campaign in $(DEMO)'
	@echo '*** alone, and nothing else trusts it. For your own campaigns sign with a key of yours.'
	sophron review $(DEMO)
	sophron approve $(DEMO) --key .demo/demo_key --as demo --digest "$$(sophron review $(DEMO) --digest)"
	cd $(DEMO) && snakemake --profile local --cores 2
	@echo
	@sophron answer $(DEMO)

test: $(VENV)/.installed-dev ## Run the tests
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-dev ## Run the tests that take minutes each: whole loops, kills, the wheel
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal -m 'slow and not queues' $(PYTEST_ARGS)

test-queues: $(VENV)/.installed-hpc ## Run the tests of executors and queues, on a private Slurm (as root; Debian: slurm-wlm munge openssh-server)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal -m 'queues or not queues' tests/cross_backend tests/warm_workers \
		tests/queues tests/snakemake_executor_plugin_* $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev ## Check style, types, layers, rules and spelling
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check workflow examples campaigns src/sophron/campaign/templates/new/Snakefile
	$(BIN)/codespell
	@rm -rf .lint && XDG_CONFIG_HOME=$(CURDIR)/.lint/config sophron new viscosity .lint/campaign > /dev/null
	cd .lint/campaign && $(BIN)/snakemake --lint
	$(BIN)/snakemake --lint --snakefile workflow/Snakefile --config campaign=.lint/campaign

docs: $(VENV)/.installed-dev ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(VENV)/.installed-dev ## Build the source distribution and the wheel into dist/
	rm -rf dist build && $(BIN)/python -m build

clean: ## Remove what the other targets made, except the demo
	rm -rf $(VENV) build dist site .lint
