//go:build unix

package digest

import (
	"context"
	"path/filepath"
)

const opOpenRecord = "open RECORD"

// OpenRecord reads one RECORD file by its path, as it lies in a .dist-info
// folder of a site directory. Nothing but RECORD is read: the Distribution has
// no name, version or metadata. Its environment root follows from the site
// directory as [Search] says, so that Inventory and Verify work.
//
// The file may not be a link. Its own faults are those of [ParseRecord].
func OpenRecord(ctx context.Context, path string) (*Distribution, error) {
	abs, err := absolute(opOpenRecord, path)
	if err != nil {
		return nil, err
	}
	folder, err := resolve(opOpenRecord, filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	data, err := readIn(ctx, opOpenRecord, folder, filepath.Base(abs), maxRecordBytes)
	if err != nil {
		return nil, err
	}
	record, err := ParseRecord(data)
	if err != nil {
		return nil, at(err, opOpenRecord, abs)
	}
	site := filepath.Dir(folder)
	return &Distribution{Site: site, Prefix: derivedPrefix(site), MetadataDir: folder, Record: record}, nil
}
