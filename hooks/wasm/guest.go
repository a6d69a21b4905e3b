package wasm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	pageSize     = 64 << 10
	compileTime  = 30 * time.Second
	recycleCalls = 10_000
)

// limits bound a guest.
type limits struct {
	timeout   time.Duration
	compile   time.Duration // 0: compileTime
	pages     uint32
	unmetered bool
}

// guest is a compiled module in a runtime of its own: what one hook does cannot reach another.
type guest struct {
	limits   limits
	module   *module
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
}

// compile makes a guest of a module that passed scan. folder is where compiled code is kept for the next start; "" for
// nowhere. A kept file that cannot be used is no reason to fail.
func compile(ctx context.Context, m *module, l limits, folder string) (*guest, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(l.compile, compileTime))
	defer cancel()
	binary := m.rewrite(!l.unmetered)
	g, err := compileWith(ctx, m, binary, l, openCache(folder))
	if err != nil && folder != "" && ctx.Err() == nil {
		return compileWith(ctx, m, binary, l, nil)
	}
	return g, err
}

func compileWith(ctx context.Context, m *module, binary []byte, l limits, cache wazero.CompilationCache) (*guest, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(l.pages).
		WithCloseOnContextDone(l.unmetered)
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	g := &guest{limits: l, module: m, cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	var err error
	// With two workers the compiler looks at ctx; with one it does not.
	g.compiled, err = g.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, 2), binary)
	if err == nil {
		err = link(ctx, g.runtime, m)
	}
	if err != nil {
		g.close()
		if ctx.Err() != nil {
			err = fmt.Errorf("compiling it takes longer than %s", cmp.Or(l.compile, compileTime))
		}
		return nil, err
	}
	return g, nil
}

// openCache opens the folder of compiled code, which is code that this server will run: nobody else may write there.
func openCache(folder string) wazero.CompilationCache {
	if folder == "" || os.MkdirAll(folder, 0o700) != nil || os.Chmod(folder, 0o700) != nil {
		return nil
	}
	before, _ := filepath.Glob(filepath.Join(folder, "wazero-*"))
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	if err != nil {
		return nil
	}
	after, _ := filepath.Glob(filepath.Join(folder, "wazero-*"))
	if len(after) > len(before) {
		for _, other := range before { // of another version of the engine
			if strings.HasPrefix(filepath.Base(other), "wazero-") {
				os.RemoveAll(other)
			}
		}
	}
	return cache
}

// close ends the guest and its instances. No call may be under way.
func (g *guest) close() {
	ctx := context.Background()
	g.runtime.Close(ctx)
	if g.cache != nil {
		g.cache.Close(ctx)
	}
}
