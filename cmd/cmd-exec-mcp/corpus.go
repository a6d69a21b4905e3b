package main

import (
	"fmt"
	"io"

	"cmd-exec-mcp/runtime/policy"
)

// policyTest holds a file of cases against the policy: the one of the config that was named, else the default lists in
// each case's mode.
func (a *app) policyTest(r io.Reader) error {
	asked := map[string]*policy.Policy{}
	var failed error
	report, err := policy.RunCorpus(func(mode string) *policy.Policy {
		if a.configFlag != "" {
			mode = ""
		} else if mode == "" {
			mode = "blacklist"
		}
		p, ok := asked[mode]
		if !ok {
			var err error
			if p, err = a.policy(policyFlags{mode: mode}); err != nil {
				failed = err
				p, _ = policy.NewConfig().Compile() // whatever it says is not reported
			}
			asked[mode] = p
		}
		return p
	}, r)
	if failed != nil {
		return failed
	}
	if err != nil {
		return &status{exitConfig, err}
	}
	fmt.Fprint(a.stdout, report)
	if report.Passed < report.Total {
		return &status{1, nil}
	}
	return nil
}
