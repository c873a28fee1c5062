// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// client is the engine's command line.
type client struct {
	program string   // nerdctl, ctr, docker or podman
	who     *account // the rootless engine's user; nil is root
	auth    string   // registry credentials as in ~/.docker/config.json; empty is none
	record  *Record  // of images that came from other nodes
}

// String tells the client for people.
func (c client) String() string {
	if c.who == nil {
		return c.program
	}
	return c.program + " of " + c.who.name
}

// environment is what rootless Docker needs to find its own daemon.
func (c client) environment() []string {
	if c.program == "docker" && c.who != nil {
		return []string{"DOCKER_HOST=unix://" + c.who.runtimeDir() + "/docker.sock"}
	}
	return nil
}

func (c client) answer(ctx context.Context, args ...string) (string, error) {
	return answerAs(ctx, c.who, c.environment(), append([]string{c.program}, args...)...)
}

// pull gets an image from its registry.
func (c client) pull(ctx context.Context, image string, output io.Writer) error {
	env, done, err := c.credentials(image)
	if err != nil {
		return err
	}
	defer done()
	argv := []string{c.program, "pull", "--quiet", image}
	if c.program == "ctr" {
		argv = []string{c.program, "images", "pull", "--hosts-dir", registriesDir, longReference(image)}
	}
	if err := runAs(ctx, output, c.who, append(env, c.environment()...), argv...); err != nil {
		return setup.Advise(fmt.Errorf("pull %s: %w", image, err),
			"see whether the node reaches the registry (route, DNS, proxy), whether it knows the image, and whether it wants credentials; where the disk is full, set data_root to a larger one")
	}
	return nil
}

// credentials gives the engine the registry credentials in a file of its user for as long as it runs: never on a
// command line. ctr has no other way to take them, and is refused those that the image needs.
func (c client) credentials(image string) (env []string, done func(), err error) {
	done = func() {}
	if c.auth == "" {
		return nil, done, nil
	}
	content, err := os.ReadFile(c.auth)
	if err != nil {
		return nil, done, fmt.Errorf("read the registry credentials: %w", err)
	}
	if c.program == "ctr" {
		if hasLogin(content, image) {
			return nil, done, setup.Advise(fmt.Errorf("pull %s: ctr takes credentials of registries on its command line alone, where all users of the node see them", image),
				"have nerdctl installed, too: it is, unless versions say nerdctl = \"none\"")
		}
		return nil, done, nil
	}
	parent := "/run" // memory: it does not outlive the node
	if c.who != nil {
		parent = c.who.runtimeDir() // RootlessKit's copy of /run lacks what is new there
	}
	dir, done, err := keep(content, parent, c.who)
	if err != nil {
		return nil, func() {}, fmt.Errorf("keep the registry credentials: %w", err)
	}
	return []string{"DOCKER_CONFIG=" + dir, "REGISTRY_AUTH_FILE=" + filepath.Join(dir, authFile)}, done, nil
}

const authFile = "config.json"

// keep writes credentials into a new folder of a user's, nil is root's, until done. Where the parent is the user's, links
// in it lead nowhere else.
func keep(content []byte, parent string, who *account) (dir string, done func(), err error) {
	root, err := os.OpenRoot(parent)
	if err != nil {
		return "", nil, err //nolint:wrapcheck // it names the folder
	}
	name := "ocihpc-registry-" + rand.Text()
	done = func() { _ = errors.Join(root.RemoveAll(name), root.Close()) }
	file := filepath.Join(name, authFile)
	err = root.Mkdir(name, 0o700)
	if err == nil {
		err = root.WriteFile(file, content, 0o600)
	}
	if err == nil && who != nil {
		err = errors.Join(root.Lchown(file, who.uid, who.gid), root.Lchown(name, who.uid, who.gid))
	}
	if err != nil {
		done()
		return "", nil, err //nolint:wrapcheck // it names the file
	}
	return filepath.Join(parent, name), done, nil
}

// hasLogin says whether credentials in the form of ~/.docker/config.json hold some for the image's registry.
func hasLogin(auth []byte, image string) bool {
	var config struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if json.Unmarshal(auth, &config) != nil {
		return true // what cannot be read might
	}
	registry, _, _ := strings.Cut(longReference(image), "/")
	for name := range config.Auths { // such as https://index.docker.io/v1/
		_, host, scheme := strings.Cut(name, "://")
		if !scheme {
			host = name
		}
		if host, _, _ = strings.Cut(host, "/"); host == registry || registry == "docker.io" && host == "index.docker.io" {
			return true
		}
	}
	return false
}

// digest of an image that the engine has, as name@sha256:…; empty when it has not got it.
func (c client) digest(ctx context.Context, image string) (string, error) {
	id, err := c.id(ctx, image)
	if err != nil || id == "" {
		return "", err
	}
	if c.program == "ctr" {
		return withoutTag(longReference(image)) + "@" + id, nil
	}
	if received, ok := c.record.Images[image]; ok && received.ID == id {
		return received.Digest, nil
	}
	digests, err := c.answer(ctx, "image", "inspect", "--format", "{{range .RepoDigests}}{{.}} {{end}}", image)
	if err != nil {
		return "", err
	}
	if named := strings.Fields(digests); len(named) > 0 {
		return named[0], nil
	}
	return id, nil // it was loaded or built here: no registry gave it a digest
}

// id of an image that the engine has, as sha256:…; empty when it has not got it.
func (c client) id(ctx context.Context, image string) (string, error) {
	if c.program == "ctr" {
		return c.idOfContainerd(ctx, image)
	}
	known, err := c.answer(ctx, "images", "--quiet", "--no-trunc", image)
	var refused *setup.ProgramError
	if c.program == "podman" && errors.As(err, &refused) && strings.Contains(refused.Said, "image not known") {
		return "", nil // others say nothing
	}
	return first(strings.Fields(known)), err
}

func (c client) idOfContainerd(ctx context.Context, image string) (string, error) {
	name := longReference(image)
	table, err := c.answer(ctx, "images", "list", "name=="+name)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == name {
			return fields[2], nil
		}
	}
	return "", nil
}

// gpus runs nvidia-smi -L in a container and gives the GPUs that it saw there, by their lines.
func (c client) gpus(ctx context.Context, image string) ([]string, error) {
	var args []string
	if c.program == "ctr" {
		args = []string{"run", "--rm", "--device", "nvidia.com/gpu=all", longReference(image), "ocihpc-proof"}
	} else { // --gpus means CDI since nerdctl 2.3, Docker 28.3 and Podman 5; --device did earlier
		args = []string{"run", "--rm", "--pull=never", "--network=none", "--device=nvidia.com/gpu=all", image}
	}
	text, err := c.answer(ctx, append(args, "nvidia-smi", "-L")...)
	if err != nil {
		return nil, err
	}
	var gpus []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "GPU ") {
			gpus = append(gpus, line)
		}
	}
	return gpus, nil
}

// running counts the containers that run.
func (c client) running(ctx context.Context) (int, error) {
	args := []string{"ps", "--quiet"}
	if c.program == "ctr" {
		args = []string{"tasks", "list", "--quiet"}
	}
	text, err := c.answer(ctx, args...)
	return len(strings.Fields(text)), err
}

// longReference is a reference as containerd keeps it: with its registry, and with a tag or a digest.
func longReference(image string) string {
	registry, rest, slash := strings.Cut(image, "/")
	switch {
	case !slash:
		image = "docker.io/library/" + image
	case !strings.ContainsAny(registry, ".:") && registry != "localhost":
		image = "docker.io/" + registry + "/" + rest
	}
	if withoutTag(image) == image {
		image += ":latest"
	}
	return image
}

// withoutTag cuts a tag and a digest off a reference.
func withoutTag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}
