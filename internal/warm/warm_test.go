package warm
import (
 _ "github.com/oracle/oci-go-sdk/v65/core"
 _ "github.com/oracle/oci-go-sdk/v65/identity"
 _ "github.com/oracle/oci-go-sdk/v65/workrequests"
 _ "github.com/oracle/oci-go-sdk/v65/common/auth"
 _ "github.com/hashicorp/terraform-plugin-testing/helper/resource"
 _ "github.com/hashicorp/terraform-plugin-framework/providerserver"
 _ "golang.org/x/crypto/ssh"
 "testing"
)
func TestX(t *testing.T){}
