// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// Ranks is the container on this node that the ranks of a job run in.
type Ranks struct {
	job.Container
	Name   string `json:"name"`   // unique to the job
	Runner string `json:"runner"` // this program's path on the node
	// SocketDir is the folder of the job's socket, on the head node.
	SocketDir string `json:"socket_dir,omitempty"`
	// Tests is a folder for nccl-tests that are built for jobs.
	Tests string `json:"tests,omitempty"`
}

// NeedsRoot says that the engine is root's.
func (r Ranks) NeedsRoot() bool { return !r.Rootless && r.Engine != job.Enroot }

// program of the engine.
func (r Ranks) program() string {
	if r.Engine == job.Containerd {
		return "nerdctl"
	}
	return string(r.Engine)
}

// environment is what the user's own engine needs, which a service or a bare session does not have. It is the login user's: an
// engine that is reached by su has no session of systemd.
func (r Ranks) environment() []string {
	env := os.Environ()
	env = append(env, "PATH="+os.Getenv("PATH")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	if r.NeedsRoot() {
		return env
	}
	runtimeDir := os.Getenv("XDG_RUNTIME_DIR")
	if runtimeDir == "" {
		runtimeDir = "/run/user/" + strconv.Itoa(os.Getuid())
		env = append(env, "XDG_RUNTIME_DIR="+runtimeDir, "DBUS_SESSION_BUS_ADDRESS=unix:path="+runtimeDir+"/bus")
	}
	if r.Engine == job.Docker {
		env = append(env, "DOCKER_HOST=unix://"+runtimeDir+"/docker.sock")
	}
	return env
}

// mounts of the container: what the runner needs, then the user's.
func (r Ranks) mounts() []string {
	all := []string{r.Runner + ":" + job.ContainerRunner + ":ro"}
	if r.SocketDir != "" {
		all = append(all, r.SocketDir+":"+filepath.Dir(job.ContainerSocket))
	}
	if r.Tests != "" {
		all = append(all, r.Tests+":"+job.ContainerTests)
	}
	return append(all, r.Mounts...)
}

// rdmaDevices are what programs open for RDMA.
var rdmaDevices = []string{"/dev/infiniband/uverbs*", "/dev/infiniband/umad*", "/dev/infiniband/rdma_cm"}

// start is the command line that starts the container, which then runs command until its stdin ends.
func (r Ranks) start(adapters []string, command ...string) []string {
	argv := []string{r.program(), "run", "--rm", "--interactive", "--name", r.Name, "--network", "host"}
	if r.Engine != job.Containerd { // nerdctl gives the node's name with its network, and fails with --uts
		argv = append(argv, "--uts", "host")
	}
	if r.ShmSizeBytes > 0 {
		argv = append(argv, "--shm-size", strconv.FormatInt(r.ShmSizeBytes, 10))
	} else {
		argv = append(argv, "--ipc", "host")
	}
	limits := map[string]int64{}
	if len(adapters) > 0 { // RDMA locks what it transfers
		limits["memlock"] = -1
	}
	maps.Copy(limits, r.Ulimits)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		argv = append(argv, "--ulimit", fmt.Sprintf("%s=%d:%[2]d", name, limits[name]))
	}
	for _, device := range slices.Concat(adapters, r.Devices) {
		argv = append(argv, "--device", device)
	}
	switch r.GPUs {
	case job.GPUsByOption:
		argv = append(argv, "--gpus", "all")
	case job.NoGPUs:
	default:
		argv = append(argv, "--device", "nvidia.com/gpu=all")
	}
	for _, mount := range r.mounts() {
		argv = append(argv, "--volume", mount)
	}
	return append(append(argv, "--user", "0:0", "--workdir", "/", "--entrypoint", job.ContainerRunner, r.Image), command...)
}

// enter is the command line that runs a command in the container.
func (r Ranks) enter(command ...string) []string {
	if r.Engine == job.Enroot { // each command has namespaces of its own, over the same files
		argv := []string{"enroot", "start", "--root", "--rw"}
		for _, mount := range r.mounts() {
			argv = append(argv, "--mount", enrootMount(mount))
		}
		return append(append(argv, r.Name), command...)
	}
	return append([]string{r.program(), "exec", "--interactive", r.Name}, command...)
}

// remove is the command line that takes the container away, whatever it does.
func (r Ranks) remove() []string {
	if r.Engine == job.Enroot {
		return []string{"enroot", "remove", "--force", r.Name}
	}
	return []string{r.program(), "rm", "--force", "--volumes", r.Name}
}

// Enter puts a command that runs in the container in the place of this process.
func (r Ranks) Enter(command ...string) error {
	argv := r.enter(command...)
	env := r.environment()
	path, err := look(argv[0], env)
	if err != nil {
		return err
	}
	return execInPlace(path, argv, env)
}

// Hold runs the container until in ends, and takes it away then, whatever else happens. Once it is there, its announcement is
// written to out, a line.
func (r Ranks) Hold(ctx context.Context, in io.Reader, out, output io.Writer) error {
	r.removeNow(ctx, output) // of a run that was killed
	defer r.removeNow(ctx, output)
	if r.Engine == job.Enroot {
		return r.holdEnroot(ctx, in, out, output)
	}
	var adapters []string
	for _, pattern := range rdmaDevices {
		found, _ := filepath.Glob(pattern) // the patterns are well-formed
		adapters = append(adapters, found...)
	}
	cmd, err := r.command(ctx, r.start(adapters, "container", "inside")...)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout = in, out
	var said tail
	cmd.Stderr = io.MultiWriter(output, &said)
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		return r.explain(fmt.Errorf("start a container of %s by %s: %w: %s", r.Image, r.program(), err, said.last()))
	}
	return nil
}

// holdEnroot has no process to hold: a container of Enroot's is its files.
func (r Ranks) holdEnroot(ctx context.Context, in io.Reader, out, output io.Writer) error {
	image := r.Image
	if !filepath.IsAbs(image) {
		dir, err := os.MkdirTemp("", "ocihpc-enroot-")
		if err != nil {
			return fmt.Errorf("make a folder for the image: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		image = filepath.Join(dir, "image.sqsh")
		if err := r.run(ctx, output, "enroot", "import", "--output", image, "docker://"+enrootReference(r.Image)); err != nil {
			return err
		}
	}
	if err := r.run(ctx, output, "enroot", "create", "--name", r.Name, image); err != nil {
		return err
	}
	var announced strings.Builder
	var said tail
	cmd, err := r.command(ctx, r.enter(job.ContainerRunner, "container", "inside")...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = &announced, io.MultiWriter(output, &said) // without stdin, it announces itself and ends
	if err := cmd.Run(); err != nil {
		return r.explain(fmt.Errorf("start a container of %s by enroot: %w: %s", r.Image, err, said.last()))
	}
	if _, err := io.WriteString(out, announced.String()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// enrootMount has a mount in Enroot's form, and makes what it goes to.
func enrootMount(mount string) string {
	if rest, readOnly := strings.CutSuffix(mount, ":ro"); readOnly {
		return rest + ":rbind,ro,x-create=auto"
	}
	return mount + ":rbind,x-create=auto"
}

// enrootReference has the registry in Enroot's form: registry#image.
func enrootReference(image string) string {
	registry, rest, slash := strings.Cut(image, "/")
	if slash && strings.ContainsAny(registry, ".:") {
		return registry + "#" + rest
	}
	return image
}

func (r Ranks) command(ctx context.Context, argv ...string) (*exec.Cmd, error) {
	env := r.environment()
	path, err := look(argv[0], env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...) // #nosec G204 -- an engine, with a validated image
	cmd.Env = env
	cmd.WaitDelay = endGrace
	return cmd, nil
}

func (r Ranks) run(ctx context.Context, output io.Writer, argv ...string) error {
	cmd, err := r.command(ctx, argv...)
	if err != nil {
		return err
	}
	var said tail
	cmd.Stdout = io.MultiWriter(output, &said)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		return r.explain(fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, said.last()))
	}
	return nil
}

// removeNow takes the container away, also after the context's end. There may be none.
func (r Ranks) removeNow(ctx context.Context, output io.Writer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
	defer cancel()
	if cmd, err := r.command(ctx, r.remove()...); err == nil {
		if text, err := cmd.CombinedOutput(); err != nil && !strings.Contains(strings.ToLower(string(text)), "no such") {
			_, _ = output.Write(text) // only a log
		}
	}
}

// explain names what is behind messages of engines that do not say it.
func (r Ranks) explain(err error) error {
	text := strings.ToLower(err.Error())
	switch {
	case r.Engine == job.Enroot:
		return setup.Advise(err, "run the same by hand on the node; Enroot reads the credentials of registries from ~/.config/enroot/.credentials, and an image that was imported once (a .sqsh file, on a file system that all nodes share) needs no registry")
	case strings.Contains(text, "rlimit") || strings.Contains(text, "memlock"):
		return setup.Advise(err, "the engine may not lift the limit of locked memory, which RDMA needs: let its user lock memory (LimitMEMLOCK=infinity in user@.service, memlock unlimited in limits.d), as ocihpc_container_runtime does, and log in anew")
	case strings.Contains(text, "nvidia.com/gpu") || strings.Contains(text, "cdi"):
		return setup.Advise(err, "see that "+cdiSpec+" is there (ocihpc_container_runtime makes it) and that the engine knows CDI; or set gpus = \"option\" for --gpus all")
	case strings.Contains(text, "pull") || strings.Contains(text, "manifest") || strings.Contains(text, "no such image"):
		return setup.Advise(err, "have the image on the nodes first: images of ocihpc_container_runtime pull it, with credentials, and pass it on from node to node")
	case r.Rootless:
		return setup.Advise(err, "see that the engine of the login user runs: systemctl --user status, after a login by SSH (su and sudo give no session)")
	}
	return setup.Advise(err, "run the same by hand on the node: "+strings.Join(r.start(nil, "container", "inside"), " "))
}

// Announcement is what the container tells of itself.
type Announcement struct {
	MemlockBytes int64 `json:"memlock_bytes"` // that it may lock; -1 is no limit
}
