package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the files that are generated from the program")
	testscript.Main(m, map[string]func(){
		programName: func() { os.Exit(mainStatus()) },
	})
}
