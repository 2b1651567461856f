# Targets for building and testing; `make help` lists them. CMakeLists.txt defines the build.
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
GENERATOR := $(if $(shell command -v ninja 2>/dev/null),-G Ninja)
SOURCES = $(shell git ls-files --cached --others --exclude-standard -- '*.c' '*.h')

.PHONY: programs build run test test-all test-opencl gpu-check bench bench-choice install uninstall fuzz sanitize clang compilers aarch64 numpy-tests torch-tests notebook-tests array-api format lint docs site symbols netlib-tests wheels deb bootstrap clean help

.PHONY: programs
programs: build/CMakeCache.txt ## build the library, its modules, the command and the Python module into build/ (the default)
	@cmake --build build -j $(JOBS) --target programs

build: build/CMakeCache.txt ## build everything, tests and examples too
	@cmake --build build -j $(JOBS)

run: bootstrap ## install requirements, build, list the libraries, multiply the example matrices on each, and find speech in a recording
	@$(MAKE) --no-print-directory build/CMakeCache.txt
	@cmake --build build -j $(JOBS) --target runtime demo
	@tools/run.sh

# MPI, ScaLAPACK and FFTW-MPI, without which their tests are skipped.
MPI_PACKAGES = mpirun.openmpi:openmpi-bin mpiexec.mpich:mpich :libscalapack-openmpi2.2 :libscalapack-mpich2.2 :libfftw3-mpi3

test: bootstrap ## install requirements, build, and run all tests; takes 20 to 35 minutes on two cores
	@tools/need.sh test $(MPI_PACKAGES) || true
	@$(MAKE) --no-print-directory build
	@tools/test.sh build

test-all: bootstrap ## as test, without leaving anything out: every case, and kernels of OpenCL as users get them
	@tools/need.sh test-all $(MPI_PACKAGES) || true
	@$(MAKE) --no-print-directory build
	@cmake --build build -j $(JOBS) --target long_tests
	@TESTED_ALL=1 tools/test.sh build

bench: programs ## build and run the benchmarks of bench/
	@cmake --build build -j $(JOBS) --target bench
	@tools/bench.sh

bench-choice: programs ## score the choice of a library, tuned and untuned, and compare with NumPy, SciPy and PyTorch; OUT is a folder
	@cmake --build build -j $(JOBS) --target bench_choice
	@tools/bench_choice.sh $(OUT)

install: programs ## install into PREFIX (default /usr/local), below DESTDIR if it is given
	@tools/install.sh build "$(PREFIX)" "$(DESTDIR)"

uninstall: programs ## remove what install put into PREFIX, below DESTDIR if it is given
	@tools/uninstall.sh build "$(PREFIX)" "$(DESTDIR)"

wheels: ## build the wheels of a release into build/wheels, for x86-64 and ARM, audit them, and test the one of this machine; ARCH chooses
	@tools/need.sh wheels cmake:cmake ninja:ninja-build gcc:gcc $(if $(filter-out x86_64,$(or $(ARCH),aarch64)),aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-aarch64:qemu-user)
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) python3 -B tools/wheels.py $(ARCH)

deb: ## build Debian's packages into build/deb, twice, check them with lintian, and as root install, use and remove them
	@tools/need.sh deb cmake:cmake ninja:ninja-build cc:gcc pkg-config:pkg-config dpkg-buildpackage:dpkg-dev dh:debhelper lintian:lintian \
	    dh_python3:dh-python man:man-db :libpython3-dev :libhwloc-dev
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) python3 -B tools/deb.py

fuzz: bootstrap ## install requirements, build with clang, and run each fuzz target for FUZZ_SECONDS (default 60)
	@tools/need.sh fuzz clang:clang :libclang-rt-dev
	@$(MAKE) --no-print-directory build-fuzz/CMakeCache.txt
	@cmake --build build-fuzz -j $(JOBS)
	@tools/fuzz.sh

sanitize: bootstrap ## install requirements, and run all tests under ASan+UBSan, then under TSan
	@$(MAKE) --no-print-directory build-asan/CMakeCache.txt build-tsan/CMakeCache.txt
	@cmake --build build-asan -j $(JOBS)
	@tools/test.sh build-asan; asan=$$?; cmake --build build-tsan -j $(JOBS) && tools/test.sh build-tsan; tsan=$$?; \
	    echo; cat build-asan/test-counts build-tsan/test-counts; exit $$((asan | tsan))

clang: bootstrap ## install requirements, build with clang without warnings, and run the C tests of that build
	@tools/need.sh clang clang:clang
	@$(MAKE) --no-print-directory build-clang/CMakeCache.txt
	@cmake --build build-clang -j $(JOBS)
	@tools/test.sh build-clang ctest

compilers: bootstrap ## check that all sources compile without warnings with clang, and with gcc without optimization, in some minutes; QUICK=1 leaves out what gcc reads in make build
	@tools/need.sh compilers clang:clang || true
	@python3 -B tools/compilers.py $(if $(QUICK),--quick)

aarch64: bootstrap ## install requirements, build for 64-bit ARM, and run the C tests under qemu
	@tools/aarch64.sh
	@$(MAKE) --no-print-directory build-aarch64/CMakeCache.txt
	@cmake --build build-aarch64 -j $(JOBS)
	@tools/aarch64_tests.sh

test-opencl: build ## run the tests of devices, of CUDA, cuBLAS, cuDNN, cuFFT, cuSOLVER and OpenCL alone, and Python's tests on devices
	@TESTED_ALL=1 ctest --test-dir build --output-on-failure --no-tests=error -j $(JOBS) -R '^(device|cuda|cublas|cudnn|cufft|cusolver|opencl|opencl_ops|clblast)_'
	@TESTED_ALL=1 BACKPLANE_BUILD="$(CURDIR)/build" .venv/bin/python -m pytest -q tests/python/test_devices.py

gpu-check: programs ## check on an NVIDIA GPU what the code assumes of it, in a few minutes; PART chooses rules; the page is build/gpu-check/page.md
	@cmake --build build -j $(JOBS) --target gpu_check
	@mkdir -p build/gpu-check
	@build/gpu_check --part "$(PART)" --folder build/gpu-check || [ $$? -eq 77 ]

numpy-tests: programs ## run NumPy's own tests of numpy.linalg and numpy.fft on Backplane
	@XDG_CONFIG_HOME="$(CURDIR)/build/numpy-tests" .venv/bin/python -B tools/numpy_tests.py

torch-tests: programs ## install PyTorch into build/torch-tests (some gigabytes), and run the Python tests that need it, with the backend of torch.compile
	@tools/optional_tests.sh torch "torch expecttest scipy"

notebook-tests: programs ## install Jupyter's kernel and nbclient into build/nbclient-tests, and run a notebook that shows tables of Backplane
	@tools/optional_tests.sh nbclient "nbclient ipykernel"

netlib-tests: programs ## run netlib's testers of BLAS and LAPACK on the drop-in libraries and on those behind them; takes an hour, and resumes. PART, TYPE, LIBRARY and WAY choose; AGAIN=1 forgets results
	@tools/need.sh netlib-tests :libblas-test :liblapack-test
	@.venv/bin/python -B tools/netlib_tests.py --part "$(PART)" --type "$(TYPE)" --library "$(LIBRARY)" --way "$(WAY)" $(if $(AGAIN),--again)

array-api: programs ## run the array API suite on linalg and fft; SUITE is its folder
	@tools/array_api.sh "$(SUITE)"

format: ## format the sources with clang-format
	@clang-format -i $(SOURCES)

lint: build/CMakeCache.txt ## check the format and run clang-tidy
	@clang-format --dry-run -Werror $(SOURCES)
	@tools/lint.sh

docs: build/CMakeCache.txt ## write the reference pages and the types for Python, from the tables in the headers and the signatures
	@cmake --build build --target docs
	@cmake --build build -j $(JOBS) --target programs
	@.venv/bin/python -B tools/settings_stub.py
	@.venv/bin/python -B tools/function_stubs.py

site: programs ## build the documentation as a static site into build/site; installs Sphinx into .venv
	@[ -x .venv/bin/python ] || python3 -m venv .venv
	@.venv/bin/python -m pip --disable-pip-version-check -q install -r tools/site.txt
	@.venv/bin/python -B tools/site.py
	@echo "build/site/index.html"

symbols: programs ## record exported symbols and setting numbers again, after an intended change of the interface
	@python3 tests/checks/exported_symbols.py build --write
	@python3 tests/checks/setting_numbers.py build --write

bootstrap: ## install requirements, as far as rights and network allow
	@tools/bootstrap.sh $(if $(filter bootstrap,$(MAKECMDGOALS)),--again)

clean: ## remove all build folders, but not .venv
	@rm -rf build build-debug build-asan build-tsan build-fuzz build-clang build-aarch64

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1 /p' $(firstword $(MAKEFILE_LIST)) | while read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

build/CMakeCache.txt:
	@cmake --preset release $(GENERATOR) --log-level=WARNING

build-%/CMakeCache.txt:
	@cmake --preset $* $(GENERATOR) --log-level=WARNING
