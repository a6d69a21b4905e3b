//go:build linux

package main

import "fmt"

// remotes are S1 to S5: Go benchmarks beside the SSH backend's tests, which start a server. Without one a line says so.
func remotes(l *lab) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	out, err := goBench(root, l.rounds(12), "./backends/ssh", "S1|S2|S3|S4|S5")
	if err != nil {
		fmt.Printf("%-6s no SSH server: %v\n", "S1-S5", err)
		return nil
	}
	return held(out, []metric{
		{"S1", "S1", "of-ssh", "a command over a connection that is there / ssh", limit{bar: 0.03, goal: 0.02}},
		{"S1.cm", "S1", "of-controlmaster", "the same / ssh with a ControlMaster", limit{bar: 0.6, goal: 0.45}},
		{"S1.sh", "S1", "of-host-bash", "the same / bash on the host", limit{bar: 2.5, goal: 1.9}},
		{"S2", "S2", "of-plain", "a shell that waits / one that is started", limit{bar: 0.25, goal: 0.2}},
		{"S2.rt", "S2", "trips", "round trips of it over a line of 40 ms", limit{bar: 1.2, goal: 1.1}},
		{"S2.pl", "S2", "plain-trips", "round trips without it", limit{bar: 2.4, goal: 2.2}},
		{"S3", "S3", "of-ssh-rate", "rate of output / ssh with the same cipher", limit{bar: 0.8, goal: 0.95, atLeast: true}},
		{"S4", "S4", "of-eight-connections", "64 commands at once over few connections / over eight", limit{bar: 1.4, goal: 1.2}},
		{"S5", "S5", "left-after-kill", "processes left half a second after a kill", limit{bar: 1, goal: 1}},
		{"S5.dr", "S5", "left-after-drop", "the same after the connection is lost", limit{bar: 1, goal: 1}},
	})
}
