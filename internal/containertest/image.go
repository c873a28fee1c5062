// SPDX-License-Identifier: MPL-2.0

package containertest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// applets of busybox that images have; the lab's nvidia-smi, which CDI mounts, runs on them.
const applets = "awk cat cp cut df echo env false grep head hostname id ip ls md5sum mkdir mount nproc ps rm sed sh sleep stat tail test touch tr true uname wc wget"

// Image makes an image of busybox for this machine's architecture, whose command is a shell. A payload is a
// file /payload of so many bytes, which do not compress: it makes images differ, and large.
func Image(t testing.TB, payload int64) v1.Image {
	t.Helper()
	text := layer(t, busybox(t), payload)
	content, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, content)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	config.Config.Cmd = []string{"sh"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// layer is the tar archive of an image's root.
func layer(t testing.TB, busybox []byte, payload int64) []byte {
	t.Helper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	add := func(header tar.Header, content io.Reader) {
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(writer, content, header.Size); err != nil {
			t.Fatal(err)
		}
	}
	none := strings.NewReader("")
	for _, dir := range []string{"bin", "dev", "etc", "proc", "root", "run", "sys", "tmp", "usr", "usr/bin", "var"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}, none)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755, Size: int64(len(busybox))}, bytes.NewReader(busybox))
	for applet := range strings.FieldsSeq(applets) {
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox"}, none)
	}
	for name, text := range map[string]string{"passwd": "root:x:0:0:root:/root:/bin/sh\n", "group": "root:x:0:\n"} {
		add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/" + name, Mode: 0o644, Size: int64(len(text))}, strings.NewReader(text))
	}
	if payload > 0 {
		random, err := os.Open("/dev/urandom")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = random.Close() }()
		add(tar.Header{Typeflag: tar.TypeReg, Name: "payload", Mode: 0o644, Size: payload}, random)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// busybox is the static one of Debian's package in the repository.
func busybox(t testing.TB) []byte {
	t.Helper()
	return fromPackage(t, "busybox-static", "./bin/busybox")
}

// fromPackage reads a file of a package in the repository.
func fromPackage(t testing.TB, name, path string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(repositoryDir(t), name+"_*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the repository has %d packages %s: %v", len(found), name, err)
	}
	text, err := exec.CommandContext(t.Context(), "dpkg-deb", "--fsys-tarfile", found[0]).Output()
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(bytes.NewReader(text)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s has no %s", found[0], path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == path {
			content, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
	}
}
