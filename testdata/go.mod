// A module of its own, so that file names which a module zip cannot hold
// (a newline, a backslash) stay out of the parent's.
module github.com/provider-measure/provider-measure/testdata

go 1.26
