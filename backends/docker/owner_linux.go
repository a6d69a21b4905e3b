package docker

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func hostID() string {
	name, _ := os.Hostname()
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return name + " " + namespace
}

func bootID() string {
	raw, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw))
}

// startOf is a process's start in clock ticks since the boot, "" when there is no such process.
func startOf(pid int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	const start = 19 // the 22nd field of the line, counted from what follows the name
	_, rest, _ := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) <= start || fields[0] == "Z" {
		return ""
	}
	return fields[start]
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
