# Thin names for the CMake presets; `make run` and `make test` also install what is missing.

MAKEFLAGS += --no-print-directory

.PHONY: build playground site site-offline dist python python-extras gallery run install uninstall deb test dev asan tsan bench bench-solvers bench-bodies tasks bench-pile ledger experiments fuzz fuzz-corpora fmt clean

# As many compilers as the machine has cores.
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# Configured each time: what an earlier configuration missed may have been installed since.
configure = cmake --preset release >/dev/null

build:
	@$(configure)
	@cmake --build --preset release -j $(JOBS)

run: setup-build
	@$(configure)
	@cmake --build --preset release -j $(JOBS) --target perp_cli
	@mkdir -p out
	@build/perp simulate examples/notes/particle.perp -o out/particle.csv

# The command, the shared library, its headers, what compilers and shells ask for, manual pages: make install PREFIX=$HOME/.local.
# Packagers stage it with DESTDIR=FOLDER. make uninstall removes what this build installs.
PREFIX ?= /usr/local
install: setup-build
	@$(configure)
	@cmake --build --preset release -j $(JOBS) --target perp_cli perp_shared
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX) >/dev/null
	@echo "installed in $(DESTDIR)$(PREFIX); for programs: export PKG_CONFIG_PATH=$(PREFIX)/lib/pkgconfig"

uninstall:
	@scripts/uninstall build $(PREFIX)

# The sources of this commit, the same bytes on every machine: out/perp-VERSION.tar.gz.
dist: version = $(shell awk '/^project/ { print $$3 }' CMakeLists.txt)
dist:
	@mkdir -p out
	@git archive --format=tar --prefix=perp-$(version)/ HEAD | gzip -9n >out/perp-$(version).tar.gz
	@echo "out/perp-$(version).tar.gz"

# Debian packages, in out/debian; needs debhelper and lintian.
deb: setup-build
	@scripts/debian

test: setup
	@$(MAKE) build
	@ctest --preset release -j2

dev asan tsan: setup
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@ -j $(JOBS)
	@ctest --preset $@ -j2

# One page in which models are edited and run, offline: out/playground.html (docs/playground.md).
playground: setup
	@$(MAKE) build
	@JOBS=$(JOBS) scripts/playground build
	@mkdir -p out
	@cp build/play/playground.html out/

# The documents as a site: out/site/index.html, by MkDocs from PyPI in a virtual environment that is kept.
SITE = build/site-tools
site:
	@scripts/nav
	@[ -x $(SITE)/bin/mkdocs ] || (python3 -m venv $(SITE) && $(SITE)/bin/pip install -q --disable-pip-version-check "mkdocs-material>=9.5,<10")
	@NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build -q --strict

# The same pages without a generator of others, their models open in the playground: out/site-offline/index.html.
site-offline: playground
	@scripts/site out/playground.html out/site-offline

# The Python package in build/python, and its tests; `pip install .` installs it.
python: setup
	@$(MAKE) build
	@ctest --preset release -R '^python$$' --output-on-failure

# The same with torch, jax, dask, gymnasium, matplotlib, and the type and style checkers, in a virtual environment that is kept. PyPI's
# torch for Linux has what graphics cards need (3 GB); a pip that is set up with a place of CPU builds takes those.
EXTRAS = build/extras
python-extras:
	@scripts/setup extras
	@$(MAKE) build
	@[ -x $(EXTRAS)/bin/pip ] || python3 -m venv $(EXTRAS)
	@$(EXTRAS)/bin/pip install -q --disable-pip-version-check -r python/extras.txt
	@$(EXTRAS)/bin/mypy
	@$(EXTRAS)/bin/ruff check -q
	@$(EXTRAS)/bin/ruff format -q --check
	@PYTHONPATH=build/python PERP_CLI=$(CURDIR)/build/perp $(EXTRAS)/bin/python -m pytest -q -p no:cacheprovider python/tests
	@PYTHONPATH=$(CURDIR)/build/python python3 -B tests/pages.py build/perp --python $(CURDIR)/$(EXTRAS)/bin/python docs/tutorials/[67]-*.md

# docs/gallery.md and its pictures, from examples/python; in the environment of python-extras.
gallery:
	@PYTHONPATH=build/python $(EXTRAS)/bin/python examples/python/gallery.py docs

bench: setup
	@$(MAKE) build
	@build/bench_simulate
	@build/bench_texts
	@build/bench_jit
	@build/bench_plan

# Complementarity methods beside the installed peers (Debian: libsiconos-numerics-dev, libode-dev).
bench-solvers: setup
	@$(MAKE) build
	@build/bench_solvers
	@build/bench_cones

# Stacks of boxes and robots by perp/bodies.h: time and work of a step, their tails; robots beside MuJoCo where Python has it
# (PERP_MUJOCO_PYTHON: a python3 that does).
bench-bodies: setup
	@$(MAKE) build
	@build/bench_bodies --tilt 5
	@build/bench_robots --steps 10000 --tilt 5
	@"$${PERP_MUJOCO_PYTHON:-python3}" bench/peer_mujoco.py build/bench_robots

# The table of tasks and the picture of README.md: perp beside MuJoCo (PERP_MUJOCO_PYTHON as above).
tasks: setup
	@$(MAKE) build
	@"$${PERP_MUJOCO_PYTHON:-python3}" -B bench/tasks.py build --update

# Piles of spheres by perp/pile.h: 1e5 contacts to 1e-6.
bench-pile: setup
	@$(MAKE) build
	@build/bench_pile -n 2000 --side 10 --settle 350 --repeat 5x5

# Instruction counts of 25 kernels become those that the test `ledger` compares with (bench/ledger.csv); needs valgrind.
ledger: setup
	@$(MAKE) build
	@scripts/ledger --update

# Every claim of the reference documents, run and judged: docs/references.md and its figures.
experiments: setup-build
	@$(MAKE) build
	@experiments/run

# Coverage-guided fuzzing of FUZZ (model: the language; trajectory: tables; json: problems; nl: programs; plan, identify, report: a model and a table;
# robot: MJCF and URDF; mesh; fclib: HDF5; fmu: settings of FMUs) for FUZZ_SECONDS, with sanitizers; needs clang and its libclang-rt-dev. New inputs go to out/fuzz. An input may take 20 s of the processor.
FUZZ ?= model
FUZZ_SECONDS ?= 60
fuzz:
	@mkdir -p out/fuzz/$(FUZZ)
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target fuzz_$(FUZZ)
	@build/fuzz/fuzz_$(FUZZ) -max_len=4096 -timeout=600 -max_total_time=$(FUZZ_SECONDS) $(patsubst %,-dict=%,$(wildcard fuzz/$(FUZZ).dict)) out/fuzz/$(FUZZ) fuzz/corpus/$(FUZZ)

# Every harness over its corpus with clang's sanitizers, and the plain ones over cut and changed copies of it (VARIED of each input).
VARIED ?= 200
fuzz-corpora:
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target harnesses
	@for corpus in fuzz/corpus/*; do echo "fuzz_$${corpus##*/}"; build/fuzz/fuzz_$${corpus##*/} -runs=0 $$corpus 2>build/fuzz/log || { tail -30 build/fuzz/log; exit 1; }; done
	@$(MAKE) build
	@for corpus in fuzz/corpus/*; do (ulimit -v 4000000; build/tests/fuzz_$${corpus##*/} --vary $(VARIED) $$corpus/*) || exit 1; done

fmt:
	@clang-format -i include/perp/*.h src/*/*.[ch] cli/*.[ch] tests/*/*.[ch] bench/*.c examples/c/*.c experiments/*/*.[ch] fuzz/*.[ch]
	@cd web && npm run --silent fmt

clean:
	rm -rf build out

.PHONY: setup setup-build
setup:
	@scripts/setup
setup-build:
	@scripts/setup build
