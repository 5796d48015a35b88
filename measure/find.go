package measure

import (
	"path/filepath"

	"github.com/provider-measure/provider-measure/internal/hostpath"
)

// findProgram looks for a program in a folder, then on the host's PATH; "" when
// it is in neither.
func (m *measurement) findProgram(beside, name string) string {
	if program := filepath.Join(beside, name); filepath.IsAbs(beside) && hostpath.Executable(program) {
		return program
	}
	path, _ := m.host.Lookup("PATH")
	program, _ := hostpath.Find(path, name)
	return program
}
