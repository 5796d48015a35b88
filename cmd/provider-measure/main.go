// Command provider-measure answers, from measured bytes: is this capability's
// exact runtime installed, is it the one that was authorized, is it healthy, and
// what does it cost?
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() {
	os.Exit(mainStatus())
}

// mainStatus ends with the status instead of the process, so that what is
// deferred on the way still happens.
func mainStatus() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	// Caught, so that a closed pipe is a write error that ends us in order, and
	// not ignored, since an ignored signal would stay ignored in every child.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return run(ctx, os.Args, outside{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv,
		stdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		stderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		etc:            "/etc/provider-measure/providers.d",
	})
}
