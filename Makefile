# Thin names for the CMake presets; `make run` and `make test` also install what is missing.

MAKEFLAGS += --no-print-directory

.PHONY: build run test dev asan bench fmt clean

build: build/Makefile
	@cmake --build --preset release

run: setup build/Makefile
	@cmake --build --preset release --target perp_cli
	@mkdir -p out
	@build/perp simulate examples/notes/particle.perp -o out/particle.csv

test: setup build
	@ctest --preset release -j2

dev asan: setup
	@cmake --preset $@ >/dev/null
	@cmake --build --preset $@
	@ctest --preset $@ -j2

bench: setup build
	@build/bench_simulate

fmt:
	@clang-format -i include/perp/*.h src/*/*.[ch] cli/*.[ch] tests/*/*.[ch] bench/*.c examples/c/*.c

clean:
	rm -rf build out

.PHONY: setup
setup:
	@scripts/setup

build/Makefile:
	@cmake --preset release >/dev/null
