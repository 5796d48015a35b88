// Package catalog offers capabilities, and only those whose exact provider was
// identified and is healthy.
//
// [Open] identifies the providers that a [provider.Host] knows, registers the
// capabilities of those that are AVAILABLE in a [Registry], applies a [Policy]
// and returns the [Catalog] with a [Report] of everything that is not in it and
// why. A manifest that is built in is an offer: when its provider is not to be
// had, its capabilities are absent. An operator's is a promise: when it can't be
// kept, Open fails.
//
// The JSON forms of [Descriptor], [Catalog] and of a policy's definition are
// canonical (RFC 8785 over strings in NFC, integers only), and the parsers of
// this package accept nothing that the printers could not have printed, but for
// white space, the order of members and members that have a default.
//
// That a capability is offered says which bytes would run. It is never evidence
// that an answer is true.
package catalog
