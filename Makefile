# `make` makes the environment; `make test`, `make run`, `make lint` use it. VENV, PYTHON and EXTRAS may be set, and
# TRITON_VENV and BENCH (options) for `make bench-codegen`.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= lld,torch,hip-python,dev
TRITON_VENV ?= .venv-triton
BIN := $(VENV)/bin
NATIVE := $(shell find runtime/emulator -name '*.cpp' -o -name '*.h' -o -name '*.inc' -o -name '*.map')
CXX_FILES := $(shell find runtime/emulator -name '*.cpp' -o -name '*.h')
PACKAGES := dialect passes runtime

.PHONY: all run test test-long lint types format bench bench-codegen fuzz clean

all: $(VENV)/stamp

# Editable: Python files are used from here, the emulated device's library is built into the environment.
$(VENV)/stamp: pyproject.toml CMakeLists.txt $(NATIVE)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hkc needs Python 3.11 or later")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --config-settings=build-dir=$(VENV)/native -e '.[$(EXTRAS)]'
	touch $@

run: all
	$(BIN)/hkc run examples/01_gemm.tile --arch gfx942 -D M=512 -D N=512 -D K=512 --check --report
	$(BIN)/hkc run examples/01_gemm.tile --arch gfx950 -D M=512 -D N=512 -D K=512 --check --report

test: all
	$(BIN)/python -m pytest -q -n 2

test-long: all
	$(BIN)/python -m pytest -q -n 2 -m long

lint: types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)

# mypy sees the packages where they are installed: under hkc.
types: all
	rm -rf $(VENV)/typed && mkdir -p $(VENV)/typed/hkc
	ln -s $(CURDIR)/hkc/* $(addprefix $(CURDIR)/,$(PACKAGES)) $(VENV)/typed/hkc/
	MYPYPATH=$(VENV)/typed $(BIN)/mypy --config-file pyproject.toml -p hkc

format: all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

bench: all
	$(BIN)/python -m benchmarks

# Triton is the peer that generated code is compared with; hkc itself never needs it.
$(TRITON_VENV)/stamp: benchmarks/codegen/requirements.txt
	test -x $(TRITON_VENV)/bin/python || $(PYTHON) -m venv $(TRITON_VENV)
	$(TRITON_VENV)/bin/python -m pip install -q --disable-pip-version-check -r $<
	touch $@

bench-codegen: all $(TRITON_VENV)/stamp
	@$(BIN)/python -m benchmarks.codegen --triton $(TRITON_VENV)/bin/python $(BENCH)

# Under AddressSanitizer and UndefinedBehaviorSanitizer; the library is built in build/fuzz.
FUZZ_SECONDS ?= 600
fuzz: all
	command -v cmake >/dev/null || $(BIN)/python -m pip install -q --disable-pip-version-check cmake
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

clean:
	rm -rf $(VENV) $(TRITON_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
