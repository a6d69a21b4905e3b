package policy

func (a *analyser) cmd(text string) {
	a.issue(Issue{Rule: "R2", Message: "text for cmd cannot be checked yet"})
}

func (a *analyser) pwsh(text string) {
	a.issue(Issue{Rule: "R2", Message: "text for PowerShell cannot be checked yet"})
}

func (a *analyser) nested(s scope, dialect, text string, at int) { a.cmd(text) }
