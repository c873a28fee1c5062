// SPDX-License-Identifier: MPL-2.0

package containertest

import (
	"encoding/base64"
	"sync"
	"testing"
	"time"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// Shape of the nodes that [Launch] makes: it has 8 GPUs.
const Shape = "BM.GPU4.8"

// clientLock makes clients one at a time: the SDK's region table has no lock of its own.
var clientLock sync.Mutex

// Launch launches instances of [Shape] in a lab, and gives them when cloud-init has ended on all of them.
func Launch(t testing.TB, l *lab.Lab, count int, userData string) []lab.InstanceStatus {
	t.Helper()
	client := compute(t, l.Info)
	for range count {
		_, err := client.LaunchInstance(t.Context(), core.LaunchInstanceRequest{LaunchInstanceDetails: core.LaunchInstanceDetails{
			AvailabilityDomain: &l.Info.AvailabilityDomain, CompartmentId: &l.Info.CompartmentID, Shape: common.String(Shape),
			CreateVnicDetails: &core.CreateVnicDetails{SubnetId: &l.Info.SubnetID},
			SourceDetails:     core.InstanceSourceViaImageDetails{ImageId: &l.Info.ImageID},
			Metadata: map[string]string{
				"ssh_authorized_keys": l.Info.SSHAuthorizedKeys, "user_data": base64.StdEncoding.EncodeToString([]byte(userData)),
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	nodes := running(t, l, count)
	for _, node := range nodes {
		Run(t, l, node.ID, "cloud-init status --wait")
	}
	return nodes
}

// running waits until so many instances of a lab run.
func running(t testing.TB, l *lab.Lab, count int) []lab.InstanceStatus {
	t.Helper()
	for {
		status, err := l.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var nodes []lab.InstanceStatus
		for _, instance := range status.InstanceList {
			if instance.State == string(core.InstanceLifecycleStateRunning) {
				nodes = append(nodes, instance)
			}
		}
		if len(nodes) >= count {
			return nodes
		}
		if len(status.InstanceList) < count {
			t.Fatalf("instances were terminated: %+v", status.InstanceList)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func compute(t testing.TB, info lab.Info) core.ComputeClient {
	t.Helper()
	clientLock.Lock()
	defer clientLock.Unlock()
	provider, err := common.ConfigurationProviderFromFile(info.ConfigFile, "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := core.NewComputeClientWithConfigurationProvider(provider)
	if err != nil {
		t.Fatal(err)
	}
	client.Host = info.Endpoint
	return client
}
