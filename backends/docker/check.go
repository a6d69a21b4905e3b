package docker

import (
	"context"
	"slices"
	"strings"
	"time"

	"cmd-exec-mcp/backends"
	"cmd-exec-mcp/runtime/job"
)

var (
	_ backends.Checker = (*Backend)(nil)
	_ backends.Filer   = (*Backend)(nil)
	_ backends.Backend = (*Backend)(nil)
)

const checkTimeout = 10 * time.Second

// Check implements backends.Checker: which engine is used, what it is like, and whether the config's images are there.
func (b *Backend) Check(ctx context.Context) []job.Check {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	place, err := locate(b.config.Host)
	if err != nil {
		return []job.Check{failed("docker engine", err)}
	}
	api, err := b.engine()
	if err != nil {
		return []job.Check{failed("docker engine", err)}
	}
	info, err := api.Info(ctx)
	if err != nil {
		return []job.Check{failed("docker engine", b.fail("the engine", err))}
	}
	rootless := slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.Contains(o, "rootless") })
	mode := "as root"
	if rootless {
		mode = "rootless"
	}
	checks := []job.Check{{
		Name:   "docker engine",
		Detail: info.ServerVersion + " at " + place.host + " (from " + place.from + "), API " + api.ClientVersion() + ", " + mode,
	}}
	cgroup := job.Check{Name: "docker limits", Detail: "cgroup v" + info.CgroupVersion + " (" + info.CgroupDriver + ")"}
	var off []string
	for _, limit := range []struct {
		name string
		on   bool
	}{{"memory", info.MemoryLimit}, {"pids", info.PidsLimit}, {"cpus", info.CPUCfsQuota}} {
		if !limit.on {
			off = append(off, limit.name)
		}
	}
	if len(off) > 0 {
		cgroup.Level, cgroup.Fix = job.Warning, "the engine enforces no limit of "+strings.Join(off, ", ")+": with a rootless engine, delegate these controllers to the user"
	}
	checks = append(checks, cgroup)
	for _, name := range b.config.images() {
		checks = append(checks, b.checkImage(ctx, name))
	}
	return checks
}

func (b *Backend) checkImage(ctx context.Context, name string) job.Check {
	check := job.Check{Name: "docker image " + name}
	x, err := b.images.local(ctx, name)
	switch {
	case err != nil:
		return failed(check.Name, err)
	case x == nil && b.config.Pull == "never":
		check.Level, check.Detail, check.Fix = job.Failed, "missing, and pull is never", "docker pull "+name
	case x == nil:
		check.Level, check.Detail, check.Fix = job.Warning, "missing: the first call pulls it", "docker pull "+name
	case len(x.shells) == 0:
		check.Level, check.Detail, check.Fix = job.Warning, "present, without a shell: it cannot run command text", "use it with command_tool, or choose another image"
	default:
		shell, _ := x.shell(b.config.Shell)
		check.Detail = "present, runs " + shell
	}
	return check
}

func failed(name string, err error) job.Check {
	check := job.Check{Name: name, Level: job.Failed, Detail: err.Error()}
	if e, ok := err.(*job.Error); ok {
		check.Fix = e.Hint
	}
	return check
}
