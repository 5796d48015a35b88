package stricttoml

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
	"golang.org/x/text/cases"

	"github.com/provider-measure/provider-measure/internal/nearest"
)

// keyChecker walks a file's keys beside the type that they will be stored in.
type keyChecker struct {
	parser    unstable.Parser
	root      reflect.Type
	positions Positions
	seen      map[string]bool   // by place.id: keys with a value
	folded    map[string]string // parent's id + folded key: the spelling seen first
	tables    map[string]bool   // by id: tables opened by a header
	arrays    map[string]int    // by id: array tables, elements so far
	fold      cases.Caser
}

// checkKeys refuses unknown, repeated and case-varied keys, and returns where
// each key stands.
func checkKeys(data []byte, target any) (Positions, error) {
	c := &keyChecker{
		root:      reflect.TypeOf(target),
		positions: Positions{},
		seen:      map[string]bool{},
		folded:    map[string]string{},
		tables:    map[string]bool{},
		arrays:    map[string]int{},
		fold:      cases.Fold(),
	}
	c.parser.Reset(data)
	at := place{typ: c.root}
	for c.parser.NextExpression() {
		node := c.parser.Expression()
		var err error
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			at, err = c.header(node)
		case unstable.KeyValue:
			err = c.keyValue(at, node, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.parser.Error(); err != nil {
		return nil, syntaxError(data, err)
	}
	return c.positions, nil
}

func syntaxError(data []byte, err error) error {
	e := &Error{Code: CodeSyntax, Err: err}
	var pe *unstable.ParserError
	if errors.As(err, &pe) {
		e.Err = errors.New(pe.Message)
		if off := offsetIn(data, pe.Highlight); off >= 0 {
			e.Line, e.Column = lineColumn(data, off)
		}
	}
	return e
}

// offsetIn finds where sub, a slice of data, begins, or -1.
func offsetIn(data, sub []byte) int {
	if sub == nil {
		return -1
	}
	off := cap(data) - cap(sub)
	if off < 0 || off > len(data) {
		return -1
	}
	return off
}

// place is a table in the file: its path and the Go type that stores it, nil
// where any key is welcome. The path is for people: "a.b" may be one key or two.
// The id tells them apart.
type place struct {
	path  string
	id    string
	depth int
	typ   reflect.Type
}

// down is the place of a key, or of an element, of p.
func (p place) down(name string) place {
	next := place{path: name, id: p.id + strconv.Itoa(len(name)) + ":" + name, depth: p.depth + 1}
	if p.path != "" {
		next.path = p.path + "." + name
	}
	return next
}

func (c *keyChecker) header(node *unstable.Node) (place, error) {
	at := place{typ: c.root}
	it := node.Key()
	for it.Next() {
		key := it.Node()
		next, err := c.step(at, key)
		if err != nil {
			return place{}, err
		}
		last := it.IsLast()
		switch {
		case last && node.Kind == unstable.ArrayTable:
			n := c.arrays[next.id]
			c.arrays[next.id]++
			next = c.element(next, n)
		case last:
			if c.tables[next.id] {
				return place{}, c.refuse(CodeDuplicateKey, key, next.path, "")
			}
			c.tables[next.id] = true
		case c.arrays[next.id] > 0:
			next = c.element(next, c.arrays[next.id]-1)
		}
		at = next
		if _, ok := c.positions[at.path]; !ok {
			c.positions[at.path] = c.position(key)
		}
	}
	return at, nil
}

func (c *keyChecker) keyValue(at place, node *unstable.Node, depth int) error {
	var last *unstable.Node
	it := node.Key()
	for it.Next() {
		last = it.Node()
		next, err := c.step(at, last)
		if err != nil {
			return err
		}
		at = next
	}
	_, twin := c.positions[at.path]
	if c.seen[at.id] || c.tables[at.id] || c.arrays[at.id] > 0 {
		return c.refuse(CodeDuplicateKey, last, at.path, "")
	}
	c.seen[at.id] = true
	if !twin {
		c.positions[at.path] = c.position(last)
	}
	return c.value(at, node.Value(), depth)
}

// value checks the keys of inline tables, also inside arrays.
func (c *keyChecker) value(at place, node *unstable.Node, depth int) error {
	if depth > MaxDepth {
		start := c.positions.Of(at.path)
		return &Error{Code: CodeTooDeep, Key: at.path, Line: start.Line, Column: start.Column}
	}
	switch node.Kind {
	case unstable.InlineTable:
		for it := node.Children(); it.Next(); {
			if err := c.keyValue(at, it.Node(), depth+1); err != nil {
				return err
			}
		}
	case unstable.Array:
		i := 0
		for it := node.Children(); it.Next(); i++ {
			if it.Node().Kind == unstable.Comment {
				i--
				continue
			}
			if err := c.value(c.element(at, i), it.Node(), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// step goes down by one key.
func (c *keyChecker) step(at place, key *unstable.Node) (place, error) {
	name := string(key.Data)
	next := at.down(name)
	if next.depth > 2*MaxDepth {
		return place{}, c.refuse(CodeTooDeep, key, at.path, "")
	}
	folded := at.id + c.fold.String(name)
	if spelled, ok := c.folded[folded]; ok && spelled != name {
		return place{}, c.refuse(CodeFoldedKey, key, next.path, spelled)
	}
	c.folded[folded] = name
	t := at.typ
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil || t.Kind() == reflect.Interface:
		return next, nil
	case t.Kind() == reflect.Map:
		next.typ = t.Elem()
		return next, nil
	case t.Kind() != reflect.Struct:
		return place{}, c.refuse(CodeWrongType, key, at.path, "")
	}
	names := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("toml"), ",")
		if tag == name {
			next.typ = t.Field(i).Type
			return next, nil
		}
		names = append(names, tag)
	}
	return place{}, c.refuse(CodeUnknownKey, key, next.path, nearest.Of(name, names))
}

// element goes down to element i of an array.
func (c *keyChecker) element(at place, i int) place {
	next := at.down(strconv.Itoa(i))
	if t := at.typ; t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		next.typ = t.Elem()
	} else if t != nil && t.Kind() != reflect.Interface {
		next.typ = t // the decoder says that an array does not fit
	}
	return next
}

func (c *keyChecker) position(key *unstable.Node) Position {
	start := c.parser.Shape(key.Raw).Start
	return Position{Line: start.Line, Column: start.Column}
}

func (c *keyChecker) refuse(code Code, key *unstable.Node, path, near string) error {
	p := c.position(key)
	e := &Error{Code: code, Line: p.Line, Column: p.Column, Key: path, Nearest: near}
	if code == CodeWrongType {
		e.Err = fmt.Errorf("%s is not a table", path)
	}
	return e
}
