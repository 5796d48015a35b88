package probe

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperArg as the first argument makes the test binary one of the helper
// programs of helpers_test.go instead of a test run.
const helperArg = "probe-test-helper"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperArg {
		if err := helper(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(97)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
