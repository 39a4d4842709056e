# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# In CI every clone is a new one: a target directory outside of it keeps the compiled crates.
ifeq ($(CI)$(CARGO_TARGET_DIR),true)
export CARGO_TARGET_DIR := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ssvirt/target
endif
target := $(or $(CARGO_TARGET_DIR),target)
xtask := $(target)/debug/xtask

# Passed on to `ssvirt demo`: make demo DEMO_ARGS='--http 0.0.0.0:8080'
DEMO_ARGS ?=

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Get what is missing, build, and serve the demo with its own PostgreSQL
	@scripts/setup.sh demo
	@cargo build -p server -p xtask
	@$(xtask) site
	@exec $(target)/debug/ssvirt demo $(DEMO_ARGS)

.PHONY: test
test: ## Get what is missing and run everything: format, lints, cargo tests, browser tests
	@scripts/setup.sh test
	@cargo build -p server -p xtask
	@$(xtask) test
