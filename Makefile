# Everything a person needs: `make demo` and `make test`. TORCH_INDEX adds a wheel index for PyTorch, for machines
# without a GPU: make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
TORCH_INDEX ?=
INSTALLED := $(VENV)/.installed
SPARK := $(VENV)/.spark
RAY := $(VENV)/.ray
MUTANTS := $(VENV)/.mutants
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup -q

# The tests start hundreds of processes: what one of them compiles the others read.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-long test-browser test-crash test-spark test-ray test-ray-kills mutants bench docs clean
.PHONY: check check-format check-rules check-types check-imports check-rooms check-documents format

demo: $(INSTALLED)
	$(BIN)/neurothek demo

test: $(INSTALLED)
	$(PYTEST)

# Whole warehouses, again and again: the wheel's demo, exports and merges, every number verified from the weights.
test-long: $(INSTALLED)
	$(PYTEST) -m "long and not slow and not crash and not cuda and not ray"

# Needs Chromium. NEUROTHEK_SCREENSHOTS names a folder that keeps what was seen.
test-browser: $(INSTALLED)
	$(PYTEST) -m browser tests/dashboards/screens/test_browser.py tests/dashboards/screens/test_flows.py

test-crash: $(INSTALLED)
	$(PYTEST) -m crash

# Needs Java 17 or later; installs PySpark, 480 MB, which nothing else needs.
test-spark: $(SPARK)
	$(BIN)/python -m pytest -q -m spark tests/queries/views/test_spark.py

# Two machines that are one: Ray's own cluster for tests. Installs Ray, 240 MB, which nothing else needs.
test-ray: $(RAY)
	$(BIN)/python -m pytest -q -m "ray and not long" tests/ingest/pipeline

# Five minutes: workers, machines and drivers killed at random moments.
test-ray-kills: $(RAY)
	$(BIN)/python -m pytest -q -m "ray and long" tests/ingest/pipeline

# A quarter of an hour and more: whether the tests notice 200 small changes of modules that only compute. ONLY names modules or
# the folders they are in: make mutants ONLY='queries ingest/lens'
mutants: $(MUTANTS)
	nice -n 15 $(BIN)/python -m tests.mutants $(ONLY)

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

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
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
