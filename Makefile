# Everything a person or a machine does with this project. `make test` and
# `make demo` install what they need through the Go module proxy, npm and, as
# root on Debian, apt-get.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  := -s -w -X main.version=$(VERSION)
export CGO_ENABLED = 0

.PHONY: all build test demo bench fuzz lint clean install

all: build

build: ## the two programs, into bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

install: build ## into GOBIN, side by side
	$(GO) install -trimpath -ldflags '$(LDFLAGS)' ./cmd/...

demo: build ## a recorded Cline task through the real hook
	./bin/hookspan demo

test: build ## everything that proves the promises
	$(GO) vet ./...
	$(GO) test -timeout 14m ./...

bench: build ## the hook's budget, then the packages' benchmarks
	$(GO) run ./tests/bench
	$(GO) test -run '^$$' -bench . -benchmem ./...

FUZZTIME ?= 20s
fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

lint: ## gofumpt, golangci-lint and govulncheck, built from their modules
	$(GO) tool -modfile=internal/tools/go.mod gofumpt -l -d .
	$(GO) tool -modfile=internal/tools/go.mod golangci-lint run
	$(GO) tool -modfile=internal/tools/go.mod govulncheck ./...

clean:
	rm -rf bin dist
