package digest

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"

	godigest "github.com/opencontainers/go-digest"

	"github.com/provider-measure/provider-measure/internal/canonjson"
)

const opComposite = "composite"

// Composite returns the COMPOSITE digest: SHA-256 over the canonical JSON (RFC
// 8785 after NFC) of the array of records, in the order given. Each is the JSON
// of one runtime identity record. Order is part of the identity.
//
// It fails with [CodeCompositeInvalid] when there is no record, when one isn't
// strict JSON or not an object with a provider, and when two have one provider.
// That a record has its 16 keys is for the package that knows them.
func Composite(records [][]byte) (godigest.Digest, error) {
	if len(records) == 0 {
		return "", fail(CodeCompositeInvalid, opComposite, "", "no components")
	}
	seen := make(map[string]int, len(records))
	h := sha256.New()
	for i, data := range records {
		canon, err := canonjson.Canonicalize(data)
		if err != nil {
			return "", &Error{Code: CodeCompositeInvalid, Op: opComposite, Detail: componentText(i), Err: err}
		}
		// Strict JSON by now, so that encoding/json's leniency can't matter, but
		// for its folding of case: a map has none.
		var object map[string]json.RawMessage
		var provider string
		if json.Unmarshal(canon, &object) != nil || json.Unmarshal(object["provider"], &provider) != nil || provider == "" {
			return "", fail(CodeCompositeInvalid, opComposite, "", "%s is not an object with a provider", componentText(i))
		}
		if j, twice := seen[provider]; twice {
			return "", fail(CodeCompositeInvalid, opComposite, "", "%s and %s are both %q", componentText(j), componentText(i), provider)
		}
		seen[provider] = i
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		h.Write([]byte{sep})
		h.Write(canon)
	}
	h.Write([]byte{']'})
	return sum(h), nil
}

func componentText(i int) string { return "component " + strconv.Itoa(i+1) }
