// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"
)

// Config describes a simulated region. Empty OCIDs are generated.
type Config struct {
	Region        string // such as us-lab-1
	TenancyID     string
	CompartmentID string
	Users         []User
	// Tokens maps a security token to the user it stands for; the user's key is then the session key.
	Tokens map[string]User
	// AvailabilityDomains by full name with the tenancy's prefix, such as Lab1:US-LAB-1-AD-1. Each has
	// three fault domains.
	AvailabilityDomains []string
	VCN                 VCN
	Subnets             []Subnet
	// Bastion is a host in one of the Subnets that is no instance; nil means none.
	Bastion *Bastion
	Images  []Image
	// Shapes offered, by name; empty offers all known ones.
	Shapes []string
	// Scenario says what is scarce and what fails; Capacity, Shortage and Faults are in it.
	Scenario
	// OnRequest is called after each request, by several at once.
	OnRequest func(RequestRecord)
	// TimeScale divides OCI's intervals: with 1000, minutes take 60 ms. 0 means 1. Timestamps stay
	// those of the wall clock, because clients compare them with their own.
	TimeScale float64
	// Hosts boots machines for instances; nil means instances without machines.
	Hosts  Hosts
	Logger *slog.Logger // nil discards
	// Store is a file that keeps the region's state. Where it has a region, that one goes on: what was in
	// motion is brought to its end, hosts of running instances boot again with their disks, and Scenario
	// counts only if it is not the zero value. VCN, Subnets and Images are those of the region's making.
	// Empty keeps everything in memory.
	Store string
	// Seed makes OCIDs and names repeatable; 0 draws a random one.
	Seed uint64
}

// User is an API user.
type User struct {
	ID  string // OCID
	Key *rsa.PublicKey
	// Compartments that the user may see beside the tenancy's root; empty means Config.CompartmentID.
	Compartments []string
}

// VCN is the first virtual cloud network of the region. It has an internet gateway, which its public subnets
// use, and a NAT gateway. Traffic within it is free, and public subnets can be reached by SSH.
type VCN struct {
	ID          string
	CIDR        netip.Prefix
	DisplayName string
	DNSLabel    string
}

// Subnet is a regional subnet of the VCN.
type Subnet struct {
	ID          string
	CIDR        netip.Prefix
	DisplayName string
	DNSLabel    string
	Public      bool // VNICs may have public addresses
	// Reserved addresses are never given to instances: something else has them.
	Reserved []netip.Addr
}

// Bastion is the host through which clients outside reach the others. The rules of its subnet are its
// rules. Hosts of other VCNs take it for one of their own VCN.
type Bastion struct {
	ID       string // its [VnicRules] HostID
	SubnetID string
	Address  netip.Addr
}

// Image is a platform image.
type Image struct {
	ID                     string
	DisplayName            string
	OperatingSystem        string
	OperatingSystemVersion string
	TimeCreated            time.Time // zero means the start of the region
	Shapes                 []string  // that it can boot; empty means all
}

func (c *Config) check() error {
	switch {
	case c.Region == "":
		return errors.New("ocisim: Config.Region is empty")
	case c.TenancyID == "" || c.CompartmentID == "":
		return errors.New("ocisim: Config.TenancyID and CompartmentID are needed")
	case len(c.AvailabilityDomains) == 0:
		return errors.New("ocisim: Config.AvailabilityDomains is empty")
	case c.TimeScale < 0:
		return fmt.Errorf("ocisim: Config.TimeScale is %g, must not be negative", c.TimeScale)
	}
	for _, s := range c.Subnets {
		if !s.CIDR.IsValid() || !s.CIDR.Addr().Is4() || s.CIDR.Bits() > 30 {
			return fmt.Errorf("ocisim: CIDR %q of subnet %q is no IPv4 network of /30 or wider", s.CIDR, s.DisplayName)
		}
	}
	if b := c.Bastion; b != nil && !slices.ContainsFunc(c.Subnets, func(n Subnet) bool { return n.ID == b.SubnetID && n.CIDR.Contains(b.Address) }) {
		return fmt.Errorf("ocisim: Config.Bastion: %s is in no subnet %s", b.Address, b.SubnetID)
	}
	for _, u := range c.Users {
		if u.ID == "" || u.Key == nil {
			return errors.New("ocisim: a user of Config.Users has no ID or no Key")
		}
	}
	return nil
}
