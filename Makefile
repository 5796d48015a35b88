# What a developer does here, each as one word. Works with GNU make 3.81 and later.
# Standard output is left to what was asked for, so that `make demo | jq` works.

GO     ?= go
PYTHON ?= python3

# The revision goes into the program whatever GOFLAGS says, but an archive has none.
# An archive that was unpacked inside another repository must not take that one's.
BUILDVCS := $(shell test -e .git && git rev-parse -q --verify HEAD >/dev/null 2>&1 && echo true || echo false)

# The race detector needs cgo, which go turns off by itself where no C compiler is.
RACE := $(shell test "$$($(GO) env CGO_ENABLED)" = 1 && echo -race)

# Tests start programs and read .providers, which go's cache of results does not see.
TESTFLAGS    ?=
TEST_TIMEOUT ?= 15m

FUZZTIME ?= 10s
BENCH    ?= .
COUNT    ?= 6

TOOL = $(GO) tool -modfile=tools/go.mod

.PHONY: help demo build test check format fmt vet staticcheck house providers bench fuzz vuln clean distclean

help:
	@echo 'make demo       measure a real provider: graph.compute.properties on NetworkX'
	@echo 'make build      bin/provider-measure'
	@echo 'make test       every test; installs the real providers into .providers first'
	@echo 'make check      format, vet for three platforms, staticcheck, build, tests of the house'
	@echo 'make fmt        format every Go file'
	@echo 'make bench      benchmarks, summarised (BENCH=regexp COUNT=6)'
	@echo 'make fuzz       every fuzz target for FUZZTIME=10s each'
	@echo 'make vuln       known vulnerabilities in what is called'
	@echo 'make clean      remove what was built; make distclean: the real providers too'

demo: build
	@$(PYTHON) scripts/providers networkx
	@bin/provider-measure graph.compute.properties --python .providers/venv

build:
	@mkdir -p bin
	@$(GO) build -trimpath -buildvcs=$(BUILDVCS) -o bin/provider-measure ./cmd/provider-measure

# A provider that this host cannot have makes its tests skip, with a typed reason.
providers:
	@$(PYTHON) scripts/providers --allow-missing

test: providers
	@$(GO) test $(RACE) -count=1 -timeout=$(TEST_TIMEOUT) $(TESTFLAGS) ./...

check: format vet staticcheck build house

# gofumpt is given files, since a folder argument would take it through .providers.
SOURCES = find . -name '.[!.]*' -prune -o -name testdata -prune -o -name '*.go' -print0

format:
	@unformatted=$$($(SOURCES) | xargs -0 $(TOOL) gofumpt -l) || exit 1; \
	if [ -n "$$unformatted" ]; then \
		echo "not formatted; run make fmt:" $$unformatted >&2; exit 1; \
	fi

fmt:
	@$(SOURCES) | xargs -0 $(TOOL) gofumpt -w

vet:
	@GOOS=linux GOARCH=amd64 $(GO) vet ./...
	@GOOS=linux GOARCH=arm64 $(GO) vet ./...
	@GOOS=darwin GOARCH=arm64 $(GO) vet ./...

staticcheck:
	@$(TOOL) staticcheck ./...

house:
	@$(GO) test -count=1 ./internal/housetest

bench: | bin
	@$(GO) test -run='^$$' -bench='$(BENCH)' -benchmem -count=$(COUNT) ./... > bin/bench.txt || { cat bin/bench.txt >&2; exit 1; }
	@$(TOOL) benchstat bin/bench.txt

bin:
	@mkdir -p bin

fuzz:
	@.ci/fuzz $(FUZZTIME)

vuln:
	@$(PYTHON) .ci/vuln

clean:
	@rm -rf bin dist .tools
	@find . -name '.[!.]*' -prune -o \( -name '*.test' -o -name '*.prof' \) -type f -exec rm -f {} +

distclean: clean
	@rm -rf .providers
