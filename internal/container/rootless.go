// SPDX-License-Identifier: MPL-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/setup"
)

// rootlessUser plans what every rootless engine needs of the node for its user.
func (p *plan) rootlessUser() {
	names := []string{"slirp4netns"}
	if p.platform.Packages == "deb" {
		names = append(names, "uidmap", "dbus-user-session")
	} else {
		names = append(names, "shadow-utils")
	}
	limits := fmt.Sprintf("%s/user@%d.service.d/90-ocihpc.conf", unitDir, p.user.uid)
	p.add(p.packages("rootless-packages", names...),
		setup.SubIDs{Ident: setup.Ident{ID: "rootless-sub-ids"}, User: p.user.name},
		p.file("rootless-memlock", "Let "+p.user.name+" lock memory, as RDMA needs it", "/etc/security/limits.d/90-ocihpc-"+p.user.name+".conf",
			fmt.Sprintf("# Written by ocihpc-runner: RDMA registers the memory that it uses.\n%s - memlock unlimited\n", p.user.name)),
		p.file("rootless-user-manager", "Let the services of "+p.user.name+" lock memory and limit containers", limits, userManagerLimits),
		linger{p.user, p.record},
		delegated{p.user})
	if p.rdma {
		p.add(managerLimits{p.user})
	}
	if p.want.DataRoot != "" {
		p.add(setup.Directory{Ident: setup.Ident{ID: "rootless-data-root"}, Place: setup.Place{Path: p.want.DataRoot + "/" + p.user.name, Mode: 0o700, Owner: p.user.name}})
	}
}

const userManagerLimits = `# Written by ocihpc-runner.
[Service]
LimitMEMLOCK=infinity
Delegate=cpu cpuset io memory pids
`

// linger is a step: the user's own systemd runs, also while nobody is logged in.
type linger struct {
	user   *account
	record *Record
}

// lingerDir has a file for each user whose services run without a login.
const lingerDir = "/var/lib/systemd/linger/"

// Name tells the step.
func (linger) Name() string { return "rootless-linger" }

// Title says what the step does.
func (l linger) Title() string { return "Have the services of " + l.user.name + " run without a login" }

// Check looks for the socket of the user's systemd.
func (l linger) Check(context.Context) (setup.State, error) {
	if _, err := os.Stat(lingerDir + l.user.name); err != nil {
		return setup.State{Detail: "they end with the last session"}, nil //nolint:nilerr // that is what the error means
	}
	if _, err := os.Stat(l.user.bus()); err != nil {
		return setup.State{Detail: "there is no " + l.user.bus()}, nil //nolint:nilerr // that is what the error means
	}
	return setup.State{Done: true, Detail: l.user.bus() + " is there"}, nil
}

// busLimit is how long the user's systemd has for its start.
const busLimit = 30 * time.Second

// ErrNoSession says that the user has no systemd of its own.
var ErrNoSession = errors.New("the user has no session of systemd")

// Apply turns lingering on and waits for the socket.
func (l linger) Apply(ctx context.Context, output io.Writer) error {
	if _, err := os.Stat(lingerDir + l.user.name); err != nil { // else it is somebody else's
		if err := l.record.put(Placed{Kind: KindLinger, Name: l.user.name}); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{ // the limits of user@.service were written just now
		{"systemctl", "daemon-reload"},
		{"loginctl", "enable-linger", l.user.name},
		{"systemctl", "start", fmt.Sprintf("user@%d.service", l.user.uid)},
	} {
		if err := run(ctx, output, argv...); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, busLimit)
	defer cancel()
	for {
		if state, err := l.Check(ctx); err != nil || state.Done {
			return err
		}
		select {
		case <-ctx.Done():
			return setup.Advise(fmt.Errorf("%w: %s has no %s after %s", ErrNoSession, l.user.name, l.user.bus(), busLimit),
				"have pam_systemd and dbus-user-session installed, and log in as "+l.user.name+" by SSH: su and sudo give no session")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// managerLimits is a step: what the user's systemd starts may lock memory. One that runs already would only learn of
// its new limit when it is restarted, with all that it runs: the limit is raised in place.
type managerLimits struct{ user *account }

// Name tells the step.
func (managerLimits) Name() string { return "rootless-memlock-now" }

// Title says what the step does.
func (m managerLimits) Title() string {
	return "Raise the memory lock limit of " + m.user.name + "'s services that run"
}

func (m managerLimits) pid(ctx context.Context) (string, error) {
	pid, err := answer(ctx, "systemctl", "show", "--property=MainPID", "--value", fmt.Sprintf("user@%d.service", m.user.uid))
	if err == nil && (pid == "" || pid == "0") {
		err = fmt.Errorf("%w: user@%d.service does not run", ErrNoSession, m.user.uid)
	}
	return pid, err
}

// Check reads the limit of the user's systemd.
func (m managerLimits) Check(ctx context.Context) (setup.State, error) {
	pid, err := m.pid(ctx)
	if err != nil {
		return setup.State{}, err
	}
	text, err := os.ReadFile("/proc/" + pid + "/limits")
	if err != nil {
		return setup.State{}, fmt.Errorf("read the limits of %s's systemd: %w", m.user.name, err)
	}
	limit := memlockOf(string(text))
	return setup.State{Done: limit == "unlimited", Detail: "it is " + limit}, nil
}

// Apply raises it.
func (m managerLimits) Apply(ctx context.Context, output io.Writer) error {
	pid, err := m.pid(ctx)
	if err != nil {
		return err
	}
	if err := run(ctx, output, "prlimit", "--pid", pid, "--memlock=unlimited:unlimited"); err != nil {
		return trapped("reboot the node: the new limit is in user@.service and limits.d; where that does not help, something above the node (a container, a sandbox) limits locked memory",
			"%s's containers may lock too little memory for RDMA: %w", m.user.name, err)
	}
	return nil
}

// memlockOf finds the soft limit in the text of /proc/PID/limits.
func memlockOf(limits string) string {
	for line := range strings.Lines(limits) {
		if rest, found := strings.CutPrefix(line, "Max locked memory"); found {
			return first(strings.Fields(rest))
		}
	}
	return "unknown"
}

// delegated is a step: the user's systemd may limit containers.
type delegated struct{ user *account }

const cgroupRoot = "/sys/fs/cgroup"

// Name tells the step.
func (delegated) Name() string { return "rootless-cgroups" }

// Title says what the step does.
func (d delegated) Title() string {
	return "Have limits of CPU and memory delegated to the containers of " + d.user.name
}

// Check looks at the user's control group.
func (d delegated) Check(context.Context) (setup.State, error) {
	if err := delegation(cgroupRoot, d.user.uid); err != nil {
		return setup.State{Detail: err.Error()}, nil //nolint:nilerr // Apply puts it right, or tells it
	}
	return setup.State{Done: true}, nil
}

// Apply has systemd read its settings again, which is enough unless it is old.
func (d delegated) Apply(ctx context.Context, output io.Writer) error {
	if err := run(ctx, output, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	return delegation(cgroupRoot, d.user.uid)
}

// delegation looks whether rootless containers can be given limits of CPU and memory.
func delegation(cgroups string, uid int) error {
	own := fmt.Sprintf("%s/user.slice/user-%d.slice/user@%d.service/cgroup.controllers", cgroups, uid, uid)
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err != nil {
		return nil //nolint:nilerr // cgroup v1 delegates nothing: containers run without limits there, as everywhere
	}
	text, err := os.ReadFile(own) // #nosec G304 -- below /sys/fs/cgroup
	if err != nil {
		return fmt.Errorf("look at what is delegated to the user: %w", err)
	}
	has := strings.Fields(string(text))
	var lacks []string
	for _, controller := range []string{"cpu", "memory", "pids"} {
		if !slices.Contains(has, controller) {
			lacks = append(lacks, controller)
		}
	}
	if len(lacks) > 0 {
		return trapped("run `systemctl daemon-reload`, then `systemctl restart user@"+strconv.Itoa(uid)+".service` when nothing of the user runs, or reboot",
			"rootless containers can have no limits: the controllers %s are not delegated to the user", strings.Join(lacks, ", "))
	}
	return nil
}

// userCDIDirs are where rootless engines look for CDI specifications. In RootlessKit's copy of /etc all folders are links,
// and the engines do not look behind one: the last of these is a folder in such a folder.
var userCDIDirs = []string{"/etc/cdi", "/var/run/cdi", "/etc/ocihpc/cdi"}

// copiedDirs are folders of /etc that rootless engines only see when they were there at their start.
var copiedDirs = []string{"/etc/ocihpc", "/etc/nerdctl"}

// userCDI has the specification where rootless engines find it.
func (p *plan) userCDI() {
	if p.gpus {
		link := userCDIDirs[2] + "/nvidia.yaml"
		p.add(p.fileStep(setup.Link{Ident: setup.Ident{ID: "rootless-cdi"}, Path: link, Target: cdiSpec}, link))
	}
}

// rootlessContainerd plans containerd of a user, as nerdctl's archive brings it. The unit is in a folder for all users,
// and enabled for this one: root cannot write to a home directory on NFS.
func (p *plan) rootlessContainerd() {
	p.rootlessUser()
	if here.restrictsUserNamespaces() {
		p.appArmor("rootlesskit", binDir+"/rootlesskit")
	}
	p.userCDI()
	data := p.user.home + "/.local/share"
	if p.want.DataRoot != "" {
		data = p.want.DataRoot + "/%u"
	}
	for _, registry := range p.want.InsecureRegistries {
		p.add(p.file("rootless-registry-"+notPlain.ReplaceAllString(registry, "-"), "", userRegistriesDir+"/"+registry+"/hosts.toml", insecureHosts(registry)))
	}
	unit := "/etc/systemd/user/containerd.service"
	p.add(p.file("rootless-containerd-unit", "", unit, rootlessUnit("containerd of a user", data, p.want.DataRoot, binDir+"/containerd-rootless.sh")),
		p.service("containerd.service", p.user, slices.Concat(copiedDirs, []string{unit, binDir + "/containerd", binDir + "/rootlesskit"})...))
	keys := map[string][]string{"cdi_spec_dirs": userCDIDirs} // else nerdctl looks in the home directory alone
	if len(p.want.InsecureRegistries) > 0 {
		keys["hosts_dir"] = []string{userRegistriesDir, "/etc/docker/certs.d"} // for the same reason; the daemon reads the first
	}
	if p.want.DataRoot != "" {
		keys["data_root"] = []string{p.want.DataRoot + "/" + p.user.name + "/nerdctl"}
	}
	p.add(p.makes(p.user, p.userFile(userSettings{p.user, ".config/nerdctl/nerdctl.toml", keys}), nerdctlNetwork(p.user.home+"/.config/cni/net.d/")...))
	if !p.without(compBypass4netns) {
		unit := "/etc/systemd/user/bypass4netnsd.service"
		p.add(p.file("bypass4netns-unit", "", unit, bypassUnit), p.service("bypass4netnsd.service", p.user, unit, binDir+"/bypass4netnsd"))
	}
}

// rootlessUnit runs an engine of a user, and has started it once it answers. A storage of its own is found by XDG_DATA_HOME.
func rootlessUnit(what, data, dataRoot, program string) string {
	environment := ""
	if dataRoot != "" {
		environment = "Environment=XDG_DATA_HOME=" + data + "\n"
	}
	return `# Written by ocihpc-runner.
[Unit]
Description=` + what + `
Requires=dbus.socket

[Service]
Environment=PATH=` + binDir + ":" + sbinDir + `:/usr/sbin:/usr/bin:/sbin:/bin
` + environment + `ExecStart=` + program + `
ExecReload=/bin/kill -s HUP $MAINPID
Type=notify
NotifyAccess=all
KillMode=mixed
Delegate=yes
Restart=always
RestartSec=2
TimeoutStartSec=300
LimitNOFILE=infinity
LimitNPROC=infinity
LimitCORE=infinity
LimitMEMLOCK=infinity
TasksMax=infinity

[Install]
WantedBy=default.target
`
}

const bypassUnit = `# Written by ocihpc-runner.
[Unit]
Description=bypass4netnsd, which gives rootless containers the speed of the node's network

[Service]
ExecStart=` + binDir + `/bypass4netnsd
Restart=always
RestartSec=2
KillMode=mixed

[Install]
WantedBy=default.target
`

// appArmor lets a program make user namespaces where AppArmor lets only named programs do so (Ubuntu 24.04).
func (p *plan) appArmor(name, program string) {
	profile := "/etc/apparmor.d/ocihpc-" + name
	p.add(p.file("apparmor-"+name, "Let "+name+" make user namespaces", profile, fmt.Sprintf(`# Written by ocihpc-runner.
abi <abi/4.0>,
include <tunables/global>

profile ocihpc-%s %s flags=(unconfined) {
  userns,
}
`, name, program)),
		setup.Command{
			Ident:   setup.Ident{ID: "apparmor-" + name + "-load", Label: "Load " + profile},
			Program: setup.Program{Argv: []string{"apparmor_parser", "--replace", profile}},
			Unless:  []string{"grep", "-q", "^ocihpc-" + name + " ", "/sys/kernel/security/apparmor/profiles"},
		})
}
