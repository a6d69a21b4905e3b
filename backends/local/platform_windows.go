package local

import (
	"fmt"
	"os/exec"
	"strings"

	"golang.org/x/sys/windows"
)

const (
	hasTTY = false
	// maxScript is what cmd takes, less the little around it.
	maxScript = 8000
)

var known = []string{"cmd", "pwsh", "bash", "wsl"}

// What a client that was started from a desktop may lack; without PATHEXT npm is not found, and without the last one cmd
// looks for programs in the working directory first.
var platformEnv = map[string]string{
	"PATHEXT":                            ".COM;.EXE;.BAT;.CMD",
	"NoDefaultCurrentDirectoryInExePath": "1",
}

func findShells() map[string]string {
	found := map[string]string{}
	for name, programs := range map[string][]string{"cmd": {"cmd.exe"}, "pwsh": {"pwsh.exe", "powershell.exe"}, "bash": {"bash.exe"}, "wsl": {"wsl.exe"}} {
		for _, program := range programs {
			path, err := exec.LookPath(program)
			// The bash.exe of Windows itself is another door to WSL.
			if err != nil || name == "bash" && strings.Contains(strings.ToLower(path), `\system32\`) {
				continue
			}
			found[name] = path
			break
		}
	}
	return found
}

// mayEnter is left to the start itself: access lists have no quick answer.
func mayEnter(string) bool { return true }

// consoleEncoding is what programs print where no console is told otherwise.
func consoleEncoding() string {
	page, err := windows.GetConsoleOutputCP()
	if err != nil || page == 0 {
		page = windows.GetACP()
	}
	switch page {
	case 65001:
		return ""
	case 932:
		return "shift_jis"
	case 936:
		return "gbk"
	case 949:
		return "euc-kr"
	case 950:
		return "big5"
	case 437, 850, 852, 855, 858, 860, 862, 863, 865, 866:
		return fmt.Sprintf("ibm%d", page)
	}
	return fmt.Sprintf("windows-%d", page)
}

// findLoginPath has nothing to ask: PATH comes from the registry, for every program alike.
func (b *backend) findLoginPath() string { return "" }
