package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestInstancesStartTogether opens and closes many instances of one data folder at once: each gets a folder that stays
// until it is closed, whatever the sweeps of the others do.
func TestInstancesStartTogether(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 50 {
				in, err := openInstance(data)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(filepath.Join(in.dir, "lock")); err != nil {
					t.Error(err)
				}
				in.close()
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(filepath.Join(data, "instances")); len(left) > 0 {
		t.Errorf("%d folders are left", len(left))
	}
}
