# What is pinned here is what CI uses; `go run` fetches it.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOFUMPT     = mvdan.cc/gofumpt@v0.12.0

.PHONY: run build test check bench fuzz-short

run: ## an agent's session, played to the terminal
	go run ./cmd/cmd-exec-mcp demo

build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o cmd-exec-mcp ./cmd/cmd-exec-mcp

test: ## every test, with the race detector, against real services where they can be started
	go test -race -timeout 25m ./...

check: ## what a change must pass: format, vet on three systems, lint, sizes, and a tree that stays as committed
	@git diff --quiet || { git diff --stat; echo "check: commit or stash first: it must not change the tree"; exit 1; }
	go mod tidy
	go run $(GOFUMPT) -l -w .
	go generate ./...
	go vet ./...
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...
	go run $(STATICCHECK) ./...
	go test -run 'TestImports|TestSizes' .
	@git diff --exit-code || { echo "check: the tree changed: commit what the tools did"; exit 1; }

bench: ## pairs of ours and the floor in one run: id ratio bar goal ok|short
	go run ./cmd/bench

FUZZTIME = 1m
fuzz-short: ## every fuzz target for a minute, and texts that the policy allows in real shells (as root)
	@set -e; grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9]+' . | sed -E 's/:[0-9]+:func /:/' | while IFS=: read -r file target; do \
		echo "== $$target ($$(dirname $$file))"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$(dirname $$file); \
	done
	CEM_DIFFTEST=$(FUZZTIME) go test -count=1 -v -run TestDifferential ./runtime/policy/difftest
