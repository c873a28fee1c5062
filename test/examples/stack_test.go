// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"archive/zip"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/acctest"
	"github.com/ocihpc/terraform-provider-ocihpc/internal/lab"
)

// TestStack runs the packed stack as a job of Resource Manager: with the variables in the environment, as a resource
// principal and by an API key, without a home directory, and by the one executable that a bucket has.
func TestStack(t *testing.T) {
	skipUnlessAsked(t)
	l := startLab(t, lab.HostsLinux)
	tf := acctest.NewTerraformOf(t, unpacked(t), "", ours(t))
	key, err := os.ReadFile(l.Info.SSHPrivateKeyPath)
	if err != nil {
		t.Fatal(err)
	}
	secrets := acctest.WatchSecrets(t, acctest.KeyLine(t, l.Info.SSHPrivateKeyPath))
	job := []string{
		"PATH=" + os.Getenv("PATH"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "OCIHPC_ENDPOINT=" + l.Info.Endpoint,
		"TF_VAR_tenancy_ocid=" + l.Info.TenancyOCID, "TF_VAR_compartment_ocid=" + l.Info.CompartmentID, "TF_VAR_region=" + l.Info.Region,
		"TF_VAR_current_user_ocid=" + l.Info.UserOCID, "TF_VAR_availability_domain=" + l.Info.AvailabilityDomain, "TF_VAR_vcn_id=" + l.Info.VCNID,
		"TF_VAR_subnet_id=" + l.Info.SubnetID, "TF_VAR_image_id=" + l.Info.ImageID, "TF_VAR_shape=" + small, "TF_VAR_size=2", "TF_VAR_rdma=false",
		"TF_VAR_ssh_authorized_keys=" + l.Info.SSHAuthorizedKeys, "TF_VAR_ssh_private_key=" + base64.StdEncoding.EncodeToString(key),
		"TF_VAR_bastion_host=" + l.Info.BastionHost, "TF_VAR_bastion_port=" + strconv.Itoa(l.Info.BastionPort),
		"TF_VAR_container_engine=none", "TF_VAR_measure=true", "TF_VAR_max_size_bytes=1048576", "TF_VAR_min_busbw_gb_per_s=0",
	}
	tf.SetEnviron(slices.Concat(job, l.Info.ResourcePrincipalEnviron()))
	defer tf.Destroy()
	apply(t, tf)
	expectOutput(t, tf, "outcome", "pass")
	var addresses map[string]string
	if tf.Output("addresses", &addresses); len(addresses) != 2 {
		t.Errorf("addresses: %v", addresses)
	}
	apiKey, err := os.ReadFile(l.Info.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	tf.SetEnviron(slices.Concat(job, []string{
		"TF_VAR_auth=ApiKey", "TF_VAR_api_fingerprint=" + l.Info.Fingerprint, "TF_VAR_api_private_key=" + base64.StdEncoding.EncodeToString(apiKey),
	}))
	tf.ExpectNoChanges()
	secrets.InFiles(tf.Dir())
	status, err := l.Status(t.Context())
	if err != nil || status.Refused != 0 {
		t.Errorf("%d requests were refused (%v)", status.Refused, err)
	}
}

// unpacked gives a folder with what `make stack` packs.
func unpacked(t *testing.T) string {
	t.Helper()
	archive, dir := filepath.Join(t.TempDir(), "stack.zip"), t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "run", "../../tools/stack", "../../stack", archive).CombinedOutput(); err != nil {
		t.Fatalf("pack the stack: %v\n%s", err, out)
	}
	reader, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if err := os.CopyFS(dir, reader); err != nil {
		t.Fatal(err)
	}
	return dir
}
