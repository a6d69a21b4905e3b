package local

import (
	"fmt"
	"os"
	"strings"
)

// ofSystem names what this process holds outside of Go's memory: descriptors and children.
func ofSystem() map[string]bool {
	held := map[string]bool{}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && !strings.Contains(target, "eventpoll") && !strings.Contains(target, "eventfd") {
			held["descriptor "+fd.Name()+" "+target] = true
		}
	}
	for _, pid := range processes() {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid()) {
			held["child "+string(stat)] = true
		}
	}
	return held
}
