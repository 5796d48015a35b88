package probe

import "fmt"

// engines are the engines of this host, each of which runs the whole suite.
func engines() []engine { return []engine{portableEngine{}} }

func platformHelper(name string, _ []string) error { return fmt.Errorf("no helper %q", name) }
