# Everything a person or a machine does with this project. `make test` and
# `make demo` install what they need through the Go module proxy, npm and, as
# root on Debian, apt-get.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  := -s -w -X main.version=$(VERSION)

# The same sources give the same bytes, whatever folder, cache or checkout they
# are built in: the version alone says where they came from. So what was built in
# one checkout need not be built again for the tests of another.
BUILD    := -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
export CGO_ENABLED = 0
export GOFLAGS := $(GOFLAGS) -trimpath -buildvcs=false -ldflags=-s

.PHONY: all help test-all test-rest test-backends test-windows test-clickhouse page page-tests unit-tests tests race build lines collector collector-sources setup check test soak soak-tables soak-drawn soak-page soak-surfaces newest release publish reproducible sbom screenshots backend-pictures dashboard-pictures demo bench bench-fleet gobench fuzz fmt lint clean install

all: build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | expand -t 22

build: ## the three programs, into bin/
	$(GO) build $(BUILD) -o bin/ ./cmd/...

install: build ## into GOBIN, side by side
	$(GO) install $(BUILD) ./cmd/...

# Modules of their own: what they need must not become a need of hookspan.
COMPONENTS = infinium/infiniumexporter collector-config/queuestorage collector-config/agentmetrics collector-config/refusals collector-config/kubernetes
collector: ## a Collector with what collector-config/ uses and the Infinium exporter, into bin/
	$(GO) -C collector-config/distribution build -trimpath -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/bin/hookspan-collector .

BUILDER = go.opentelemetry.io/collector/cmd/builder@v0.158.0
collector-sources: ## writes collector-config/distribution from collector-config/builder.yaml
	cd collector-config && $(GO) run $(BUILDER) --config builder.yaml --skip-compilation
	gofmt -w collector-config/distribution

demo: build ## a recorded Cline task through the real hook
	./bin/hookspan demo

page: ## internal/ui/assets, the bundled page; needs node
	cd internal/ui/web && npm ci --ignore-scripts --no-audit --no-fund && npm run check
	$(GO) -C internal/ui/web run .

# Modules of their own as well; without node or chromium their tests report why they are skipped.
PAGE = internal/ui/web tests/ui
page-tests: ## the bundled page is what its sources give, and works in Chromium
	cd internal/ui/web && { ! command -v npm >/dev/null || npm ci --ignore-scripts --no-audit --no-fund; }
	for dir in $(PAGE); do \
	  $(GO) -C $$dir vet ./... && $(GO) -C $$dir test -count=1 -timeout 10m -run '$(PAGE_RUN)' -skip '$(or $(PAGE_SKIP),^$$)' ./... || exit 1; done

screenshots: ## docs/images/ui-*.png, the page over recorded sessions; needs chromium
	$(GO) -C tests/ui test -count=1 -run Pictures . -pictures $(CURDIR)/docs/images

setup: ## what the tests use beyond Go: the agents' CLIs from npm, a keyring
	$(GO) -C tests run ./internal/setup
	./tests/setup.sh

# What tests the programs needs more than hookspan may: modules of their own as well.
TESTS = tests tests/bench

# Formatting by gofmt, since building gofumpt takes minutes the first time.
# Results are taken from the cache where nothing has changed.
check: ## for each save: formatting, vet, the packages' own tests
	@odd=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); [ -z "$$odd" ] || \
	  { echo "not formatted ('make fmt' fixes it):"; echo "$$odd"; exit 1; }
	for dir in . $(TESTS); do $(GO) -C $$dir vet ./... || exit 1; done
	$(GO) test ./...

# Nothing is taken from the cache: tests that build and start the programs do
# not show the go command what they depend on. The browser's tests mostly wait, so
# the packages' own run beside them. Many packages of tests/ wait more than they work,
# so four run at once on two cores; those that take longest begin first, so that none
# of them is left to run alone at the end.
LONGEST = ./fault ./security ./clinecli ./hookscli ./collector ./packages

# What takes longest and few changes can break is left to "make test-rest": these tests, of
# which a test checks that they exist, and the rows of ./fault and ./security marked Rest.
REST      = TestForks|TestDrawnForks|TestPackages|TestInstallsFromTheModule|TestInstallScriptInHostileFolders|TestCollectors|TestDashboardShowsWhatTheSpansSay
PAGE_REST = TestAttacks|TestOddTasksAreShown|TestLargeTaskKeepsItsSelection

# The tests copy the programs from bin/ instead of building them for each package.
test test-rest newest soak-tables soak-drawn soak-page: export TEST_PROGRAMS = $(CURDIR)/bin
# Each test that is left out adds a line.
test test-rest: export HOOKSPAN_TEST_SKIPS = $(CURDIR)/.cache/skips
test: export TEST_ROWS = change
test: setup collector build ## what a change must pass
	@mkdir -p .cache && rm -f $$HOOKSPAN_TEST_SKIPS
	@$(MAKE) --no-print-directory tests; rc=$$?; tests/skips/list.sh; \
	echo "Left to make test-rest: $(REST); of the page: $(PAGE_REST); the rows of tests/fault and tests/security marked Rest"; exit $$rc

tests:
	$(MAKE) --no-print-directory -j 2 page-tests unit-tests PAGE_SKIP='^($(PAGE_REST))$$$$'
	$(GO) -C tests test -count=1 -vet=off -p 4 -timeout 14m -skip '^($(REST))$$' $(LONGEST) ./...
	$(GO) -C tests/bench test -count=1 -vet=off ./...

test-rest: setup collector build ## opencode's forks, the built packages, the Collectors' faults and the dashboard, attacks on the page, slow rows
	@mkdir -p .cache && rm -f $$HOOKSPAN_TEST_SKIPS
	@rc=0; $(GO) -C tests test -count=1 -vet=off -p 3 -timeout 30m -run '^($(REST))$$' ./opencodecli ./collector ./packages || rc=1; \
	TEST_ROWS=rest $(GO) -C tests test -count=1 -vet=off -timeout 20m -run '^(TestFaults|TestAttacks)$$' ./fault ./security || rc=1; \
	$(MAKE) --no-print-directory page-tests PAGE_RUN='^($(PAGE_REST))$$$$' || rc=1; tests/skips/list.sh; exit $$rc

# The engine is 150 MB from PyPI, so this is not a part of "make test".
CHDB = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hookspan-tests/chdb
test-clickhouse: collector build ## the tables and queries of collector-config/clickhouse in ClickHouse's engine; installs chdb from PyPI
	[ -x $(CHDB)/bin/python ] || { python3 -m venv $(CHDB) && $(CHDB)/bin/pip install --quiet chdb==4.4.0; }
	CHDB_PYTHON=$(CHDB)/bin/python TEST_PROGRAMS=$(CURDIR)/bin $(GO) -C tests test -count=1 -vet=off -timeout 14m ./collector -run ClickHouse -v

# Two virtual environments, most of a gigabyte each, and builds of Jaeger and Prometheus are
# made the first time. -v lists what is skipped where there is no Python 3 or PyPI.
test-backends: export TEST_PROGRAMS = $(CURDIR)/bin
test-backends: build ## every golden trace to real Phoenix, MLflow and Jaeger, metrics to Prometheus, on loopback; needs Python 3
	$(GO) -C tests test -count=1 -timeout 30m -v ./backends -backends

test-all: ## test, test-rest, test-clickhouse and test-backends
	$(MAKE) --no-print-directory test
	$(MAKE) --no-print-directory test-rest
	$(MAKE) --no-print-directory test-clickhouse
	$(MAKE) --no-print-directory test-backends

unit-tests:
	for dir in . $(TESTS); do $(GO) -C $$dir vet ./... || exit 1; done
	for dir in $(COMPONENTS); do \
	  $(GO) -C $$dir vet ./... && $(GO) -C $$dir test -count=1 -timeout 5m ./... || exit 1; done
	$(GO) test -count=1 -vet=off -p 2 -timeout 10m ./...

# The race detector needs CGO.
race: ## the packages' own tests under the race detector; needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -vet=off -timeout 20m ./...

# What one part of the long forms may take, and the parts of soak-tables.
SOAKTIME ?= 170m
TABLES ?= ./fault $(ATTACKS)
ATTACKS = ./security ./collector ./hookscli ./clinecli ./opencodecli
# How many sessions of each agent the long form draws, and of which agents.
DRAWN ?= 200
DRAWN_AGENTS ?= $(sort kilo $(filter-out hooks,$(patsubst tests/%cli,%,$(wildcard tests/*cli))))
soak: soak-tables soak-drawn soak-page soak-surfaces ## the long form of the tests of faults, attacks, hooks and the page; writes tables into dist/results, sums into docs/

soak-tables: setup collector build ## the tables of faults and attacks, and the agents' long tests
	$(GO) -C tests test -count=1 -p 1 -timeout $(SOAKTIME) $(TABLES) -soak -publish -skip Drawn

soak-drawn: setup build ## DRAWN sessions of each of DRAWN_AGENTS, with the real agents
	@rc=0; for agent in $(DRAWN_AGENTS); do \
	  case $$agent in kilo) set -- ./opencodecli "^TestDrawnForks/$$agent$$" ;; *) set -- ./$${agent}cli '^TestDrawnSessions$$' ;; esac; \
	  echo "$$agent:"; $(GO) -C tests test -count=1 -timeout 6h $$1 -run "$$2" -soak -drawn $(DRAWN) || rc=1; done; exit $$rc

newest: setup build ## the newest version of each agent's program (AGENT=codex: of one) against its tests; prints what differs, changes nothing
	$(GO) -C tests run ./internal/newest $(if $(AGENT),-agent $(AGENT))

soak-surfaces: ## what the commands and the page count, over 200 drawn stores
	$(GO) test -count=1 -timeout 1h ./cmd/hookspan -run TestSurfacesAgree -surfaces 200

soak-page: setup build ## the page's long tests, and the others with answers that come late
	cd internal/ui/web && npm ci --ignore-scripts --no-audit --no-fund
	$(GO) -C tests/ui test -count=1 -timeout 30m . -soak -publish -browser chromium
	$(GO) -C tests/ui test -count=1 -timeout 30m -skip '^(TestAttacks|TestOddTasksAreShown|TestViews|TestEditingViews)$$' . -slow 700ms

backend-pictures: build ## docs/images/backend-*.png, a task in Phoenix and MLflow; needs Python 3 and chromium
	TEST_PROGRAMS=$(CURDIR)/bin $(GO) -C tests test -count=1 -timeout 30m -v -run Picture ./backends -backends -pictures $(CURDIR)/docs/images

# npm brings Grafana's components, half a gigabyte. It also needs node, and
# Debian's packages chromium and prometheus.
dashboard-pictures: ## docs/images/dashboard-*.png, the dashboard over invented data
	cd collector-config/grafana/render && npm ci --ignore-scripts --no-audit --no-fund && npm run screenshots

reproducible: ## builds programs and packages twice with cold caches, under different conditions, and compares them
	$(GO) -C tests test -count=1 -timeout $(SOAKTIME) ./security -soak -row 'built twice' -v
	$(GO) -C tests test -count=1 -timeout $(SOAKTIME) ./packages -run Twice -twice -v

sbom: build ## dist/hookspan.cdx.json: the contents of the programs, as CycloneDX
	@mkdir -p dist
	$(GO) -C internal/tools run ./sbom -version '$(VERSION)' $(addprefix $(CURDIR)/bin/,cline-hook claude-hook hook-runner hookspan) > dist/hookspan.cdx.json

# The first run builds goreleaser, which takes minutes. The packages are made one
# after another, since their files would otherwise be in another order each time.
# goreleaser takes the commit's time only where git knows a remote.
release: ## dist/: the packages for every system, of VERSION=1.2.3 or a snapshot; publishes nothing
	$(if $(filter-out file,$(origin VERSION)),GORELEASER_CURRENT_TAG=v$(VERSION:v%=%)) \
	  GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/hookspan/hookspan \
	  $(RELEASER) release --snapshot --clean --parallelism 1 --timeout $(RELEASETIME) $(RELEASE)

publish: ## the same for the tag that is checked out, and publishes it; run by the release workflow
	@mkdir -p .cache
	packaging/notes.sh "$$(git describe --tags --exact-match)" >.cache/notes.md
	$(RELEASER) release --clean --parallelism 1 --timeout $(RELEASETIME) --release-notes .cache/notes.md

bench: ## costs of hook calls and deliveries, beside the minimum, into dist/results; BENCH=-publish also writes docs/
	$(GO) -C tests/bench run . $(BENCH)

bench-fleet: ## spans per second from many developers to gateways, into dist/results; BENCH=-publish also writes docs/
	$(GO) -C tests/bench run ./fleet $(BENCH)

gobench: ## the packages' own benchmarks
	for dir in . $(COMPONENTS) $(TESTS); do $(GO) -C $$dir test -run '^$$' -bench . -benchmem ./... || exit 1; done

test-windows: ## the tests of packages built for Windows, under Wine; needs root (PKG=./spool names other packages)
	tests/windows.sh $(or $(PKG),./cmd/... ./config ./hook/... ./infinium ./internal/... ./otelmap ./spool)

lines: ## lines of product code per package: Go, and the page's TypeScript, CSS and HTML, without tests, generated code and tests/
	@git ls-files '*.go' 'internal/ui/web/src/*' | grep -v -e '_test\.go$$' -e '^tests/' -e '^internal/testkit/' | while read -r f; do \
	  head -3 "$$f" | grep -q 'Code generated' || echo "$$f"; done | xargs wc -l | \
	  awk '$$2 != "total" { n = $$2; sub(/\/[^\/]*$$/, "", n); lines[n] += $$1; all += $$1 } \
	    END { for (n in lines) print lines[n], n; print all, "in all" }' | sort -rn

FUZZTIME ?= 20s
fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

# The tools and what they need are pinned in a go.mod of their own. The first
# run builds them, which takes minutes; after that they are cached.
TOOL = $(GO) tool -modfile=internal/tools/go.mod
RELEASETIME = 150m
RELEASER = $(GO) tool -modfile=internal/tools/release/go.mod goreleaser

fmt: ## the formatting that lint asks for
	$(TOOL) gofumpt -w .

# What others may call though no program of this module does.
PUBLIC = config hook infinium otelmap spool

lint: ## formatting, linters on three systems, functions that no program calls, the workflows, known vulnerabilities
	@odd=$$($(TOOL) gofumpt -l .) || exit 1; [ -z "$$odd" ] || \
	  { echo "not formatted ('make fmt' fixes it):"; echo "$$odd"; exit 1; }
	@linter=$$($(TOOL) -n golangci-lint) || exit 1; for os in linux darwin windows; do \
	  echo "golangci-lint, $$os"; for dir in . $(COMPONENTS) $(TESTS) $(PAGE); do \
	  (cd $$dir && GOOS=$$os "$$linter" run --timeout 30m) || exit 1; done; done
	@dead=$$($(TOOL) deadcode ./cmd/...) || exit 1; dead=$$(echo "$$dead" | grep -v $(PUBLIC:%=-e '^%/')); [ -z "$$dead" ] || \
	  { echo "no program calls:"; echo "$$dead"; exit 1; }
	$(GO) tool -modfile=internal/tools/release/go.mod actionlint
	@checker=$$($(TOOL) -n govulncheck) || exit 1; for dir in . $(COMPONENTS) $(TESTS) $(PAGE); do \
	  said=$$("$$checker" -C $$dir ./... 2>&1); rc=$$?; case "$$rc $$said" in \
	  "1 "*"fetching vulnerabilities"*) echo "govulncheck: skipped, the vulnerability database cannot be reached"; break ;; \
	  *) echo "$$dir: $$said"; [ $$rc = 0 ] || exit $$rc ;; esac; done

clean:
	rm -rf bin dist .cache/release
