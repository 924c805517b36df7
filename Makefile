# Needs make and Python 3.11 or newer. `make` alone lists what there is.
# Written for any POSIX make shell and for make 3.81, which is what macOS has.

.DEFAULT_GOAL := help
.PHONY: help env lab test test-all fast notebooks exercises new-item item site bench facts
.NOTPARALLEL:
SHELL := /bin/sh

BIN := .venv/bin
# An interrupted installation leaves no such file, so the next make starts again.
LAB := .venv/.installed-lab
ALL := .venv/.installed-all

# Which build of PyTorch: `make lab TORCH=cpu`, or cu130, …; by itself, tools/install.py chooses.
TORCH ?= auto

# `make lab PYTHON=/path/to/python` chooses another one.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
CANDIDATES := python3.11 python3.12 python3.13 python3.14 python3 python
PYTHON ?= $(shell for python in $(CANDIDATES); do \
	"$$python" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo "$$python"; break; }; done)

# $(call step,what it does,command) prints a heading, and on failure says where it stopped.
step = printf '\n== %s\n' "$(1)"; $(2) || { printf '\nStopped at: %s\n' "$(1)" >&2; exit 1; }

help:
	@echo 'make lab        open the lessons in JupyterLab (the first time, install what they need in .venv)'
	@echo 'make test       check what can break: format, lint, types, layers, lessons, all tests that are not slow'
	@echo 'make test-all   check everything: slow tests, browsers and long trainings, too (half an hour)'
	@echo 'make env        install what tests and maintainers need, too, in .venv'
	@echo 'make notebooks  run the lessons and store them with their outputs'
	@echo 'make exercises  make exercises/ from solutions/, and store both with their outputs'
	@echo 'make new-item   write the stubs of a new exercise: make new-item ITEM=06.my_item'
	@echo 'make item       all that is needed after a change of an exercise: make item ITEM=06.causal_mask'
	@echo 'make site       write the course as a static site into site/, without a network'
	@echo 'make facts      measure again what lessons claim in general, with other seeds (over an hour)'
	@echo 'make bench      measure speed beside other implementations, and write docs/benchmarks.md'

env: $(ALL)

lab: $(LAB)
	@$(BIN)/python -m course_lib lab

# pytest on all processors, each process on one thread. The longest come first, so that none is left
# over at the end. Compiled modules are kept, whatever the environment says: hundreds of processes
# import the course.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadgroup \
	--no-loadscope-reorder -p tools.tiers -p tools.notebooks.nbval_plugin --nbval --nbval-cell-timeout=600
# Slow tests often wait for a browser or another process: one process more than processors.
SLOW_WORKERS = $$(($$(getconf _NPROCESSORS_ONLN) + 1))
# In CI, the two together measure what the tests cover, which takes a third longer; `make test-all CI=1`
# does so anywhere.
MEASURED := $(if $(CI),--cov --cov-fail-under=0 --cov-report=)
COVERED := $(if $(CI),--cov --cov-append --cov-report=term-missing:skip-covered)

test: env
	@$(MAKE) -s fast
	@printf '\nWhat was run holds.\n'

# What `make test` has passed on these very files is not run again.
test-all: env
	@$(BIN)/python -m tools.tiers || $(MAKE) -s fast
	@$(call step,Slow tests and long lessons: they pass$(if $(CI),; all tests together cover 95 %),\
		$(PYTEST) -n $(SLOW_WORKERS) --tier rest $(COVERED) notebooks tests solutions exercises)
	@printf '\nEverything holds.\n'

fast:
	@$(call step,Format: every file is laid out by ruff,$(BIN)/ruff format --check .)
	@$(call step,Lint: ruff finds nothing wrong in code and notebooks,$(BIN)/ruff check .)
	@$(call step,Types: mypy follows every annotation,$(BIN)/mypy)
	@$(call step,Layers: no package imports from a layer above it,$(BIN)/lint-imports)
	@$(call step,Tests and lessons: they pass; notebooks give what they store,\
		$(PYTEST) -n auto --tier fast $(MEASURED) notebooks tests solutions)
	@$(BIN)/python -m tools.tiers --passed

notebooks: env
	@$(BIN)/python -m tools.notebooks.build_notebooks

exercises: env
	@$(BIN)/python -m tools.notebooks.build_exercises

new-item: env
	@$(BIN)/python -m tools.items.new_item "$(ITEM)"

item: env
	@$(BIN)/python -m tools.items.make_item "$(ITEM)"

site: env
	@$(BIN)/python -m tools.items.misconception_matrix
	@$(BIN)/python -m tools.site

facts: env
	@$(BIN)/python -m tools.claims.check_claims
	@$(BIN)/python -m tools.claims.one_stack --models encoder-decoder prefix --out evidence/one_stack.jsonl

bench: env
	@$(BIN)/python -m tools.benchmarks

$(LAB) $(ALL): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo 'make: expected Python 3.11 or newer, found none on the PATH:' \
		'install one, or name it: make lab PYTHON=/path/to/python' >&2; exit 1; }
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' || { echo 'make: expected Python 3.11 or newer, found' \
		"$$("$(PYTHON)" --version 2>&1):" 'install a newer one, or name it:' \
		'make lab PYTHON=/path/to/python' >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo 'make: expected a Python with' \
		'the modules venv and ensurepip, found' "$$("$(PYTHON)" --version)" 'without them:' \
		'on Debian and Ubuntu, apt install python3-venv' >&2; exit 1; }
	@"$(PYTHON)" -m tools.install $(@:.venv/.installed-%=%) --torch '$(TORCH)' --check
	@echo "Building .venv with $$("$(PYTHON)" --version); this takes a few minutes, once."
	@"$(PYTHON)" -m venv .venv
	@$(BIN)/python -m tools.install $(@:.venv/.installed-%=%) --torch '$(TORCH)'
	@touch $(LAB) $@
