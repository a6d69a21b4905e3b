package stream

// shape is a built-in kind of secret: a literal that says what it is, and stays readable, and the secret after it.
// Because the literal may be shown, nothing is held back before it is complete: a prompt that ends with its first
// letter appears at once.
type shape struct {
	leads []string // in lower case if fold
	fold  bool     // the case of the leads does not matter
	word  bool     // no letter, digit or underscore stands before a lead
	block bool     // to the first match of body, at most maxBlock bytes, and to the end of the output if it never ends
	body  string   // RE2; with a group only the group is secret
}

// The bodies ask for fewer characters than the issuers use today, since formats grow and shrink, but for enough that
// ordinary words with dashes (sk-folding-cube, pypi-publish) do not look like tokens.
func shapes() []shape {
	return []shape{
		{word: true, leads: []string{"AKIA", "ASIA"}, body: `[A-Z0-9]{16}\b`},
		{word: true, leads: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "hf_"}, body: `[A-Za-z0-9]{30,}`},
		{word: true, leads: []string{"github_pat_"}, body: `[A-Za-z0-9_]{20,}`},
		{word: true, leads: []string{"glpat-", "glptt-", "gldt-", "glrt-", "glcbt-"}, body: `[A-Za-z0-9_-]{16,}`},
		{word: true, leads: []string{"xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}, body: `[A-Za-z0-9-]{10,}`},
		{leads: []string{"hooks.slack.com/services/"}, body: `[A-Za-z0-9/_-]{16,}`},
		{word: true, leads: []string{"sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-"}, body: `[A-Za-z0-9_-]{16,}`},
		{word: true, leads: []string{"sk-"}, body: `[A-Za-z0-9]{20}[A-Za-z0-9_-]*`},
		{word: true, leads: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, body: `[A-Za-z0-9]{10,}`},
		{word: true, leads: []string{"AIza"}, body: `[A-Za-z0-9_-]{35}`},
		{word: true, leads: []string{"pypi-"}, body: `[A-Za-z0-9_]{16}[A-Za-z0-9_-]*`},
		{word: true, leads: []string{"eyJ"}, body: `[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*`},
		{leads: []string{"://"}, body: `[^\s/?#:@"'<>]*:([^\s/?#"'<>]+)@`},
		{fold: true, leads: headers(), body: `[^\s"']+`},
		{fold: true, leads: []string{"authorization: "}, body: `[^\s"']{16,}`},
		{fold: true, word: true, leads: []string{"bearer "}, body: `[A-Za-z0-9._~+/=-]{20,}`},
		{block: true, leads: keyBlocks(), body: `[\s\S]*?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----`},
	}
}

// headers are the beginnings of header lines, also as JSON, Python and JavaScript write them.
func headers() []string {
	leads := []string{"x-api-key: ", "private-token: ", "x-auth-token: "}
	for _, between := range []string{": ", ":", `": "`, `":"`, `': '`} {
		for _, scheme := range []string{"bearer ", "basic ", "token "} {
			leads = append(leads, "authorization"+between+scheme)
		}
	}
	return leads
}

func keyBlocks() []string {
	var leads []string
	for _, kind := range []string{"", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "ANY ", "SSH2 ENCRYPTED "} {
		leads = append(leads, "-----BEGIN "+kind+"PRIVATE KEY-----")
	}
	return append(leads, "-----BEGIN PGP PRIVATE KEY BLOCK-----")
}
