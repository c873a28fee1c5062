// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"al.essio.dev/pkg/shellescape"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// slurmConfig holds what works without systemd, control groups and a database.
const slurmConfig = `ClusterName=lab
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation=/var/lib/slurm-lab/controller
SlurmdSpoolDir=/var/lib/slurm-lab/node
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
MinJobAge=300
`

// StartSlurm makes a cluster of Slurm's out of a lab's hosts: real slurmctld, on the first one, slurmd and munged. It ends
// with the hosts. It is skipped where Slurm is not installed.
func StartSlurm(t testing.TB, l *lab.Lab, hosts []string) {
	t.Helper()
	run := func(host, line string) string {
		t.Helper()
		out, err := l.Exec(t.Context(), host, "bash", "-ec", line)
		if err != nil {
			t.Fatalf("%s: %s: %v\n%s", host, line, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := l.Exec(t.Context(), hosts[0], "sh", "-c", "command -v slurmctld && command -v slurmd && command -v munged"); err != nil {
		t.Skip("Slurm is not installed: run `tools/setup.sh test`")
	}
	config := slurmConfig
	for i, host := range hosts {
		name, address, _ := strings.Cut(run(host, "echo $(hostname -s) $(hostname -I | cut -d ' ' -f 1)"), " ")
		if i == 0 {
			config += fmt.Sprintf("SlurmctldHost=%s(%s)\n", name, address)
		}
		config += fmt.Sprintf("NodeName=%s NodeAddr=%s CPUs=2 RealMemory=1000 State=UNKNOWN\n", name, address)
	}
	config += "PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
	key := rand.Text() + rand.Text() // munge wants 32 bytes at least
	for i, host := range hosts {
		controller := ""
		if i == 0 {
			controller = "slurmctld -i"
		}
		run(host, fmt.Sprintf(`
mkdir -p /etc/slurm /etc/munge /run/munge /var/log/munge /var/lib/munge /var/lib/slurm-lab/controller /var/lib/slurm-lab/node
printf %%s %s >/etc/slurm/slurm.conf
printf %%s %s >/etc/munge/munge.key
chown -R munge:munge /etc/munge /run/munge /var/log/munge /var/lib/munge
chmod 400 /etc/munge/munge.key; chmod 755 /run/munge
setpriv --reuid munge --regid munge --clear-groups munged
%s
slurmd -b -N $(hostname -s)`, shellescape.Quote(config), key, controller))
	}
	run(hosts[0], fmt.Sprintf("for i in $(seq 300); do [ $(sinfo --noheader --Node --states=idle --format=%%N 2>/dev/null | wc -l) = %d ] && exit; sleep 0.1; done; sinfo; tail /var/log/slurm*; exit 1", len(hosts)))
}
