// SPDX-License-Identifier: MPL-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/job"
)

// checkFirewall looks for whatever may filter packets that come in: firewalld, ufw, nftables, iptables.
// Oracle's Ubuntu images reject incoming traffic by plain iptables rules, without any service.
func checkFirewall(ctx context.Context) job.Check {
	if state, err := answer(ctx, "systemctl", "is-active", "firewalld"); err == nil {
		return firewallFound("firewalld is " + strings.TrimSpace(state))
	}
	if config, err := os.ReadFile("/etc/ufw/ufw.conf"); err == nil && ufwEnabled.Match(config) {
		return firewallFound("ufw is enabled")
	}
	rules, err := answerAsRoot(ctx, "nft", "list", "ruleset")
	if err == nil {
		return firewallRules("nftables", filteringChain(rules))
	}
	rules, otherErr := answerAsRoot(ctx, "iptables", "-S", "INPUT")
	if otherErr == nil {
		return firewallRules("iptables", filteringRule(rules))
	}
	if missing(err) && missing(otherErr) {
		return check("firewall", job.Pass, "no firewall is installed: neither firewalld, ufw, nft nor iptables", "")
	}
	if missing(err) {
		err = otherErr
	}
	return check("firewall", job.CannotTell, fmt.Sprintf("the packet filter could not be read: %v", err), "let the login user run nft and iptables by sudo without a password")
}

var ufwEnabled = regexp.MustCompile(`(?mi)^\s*ENABLED\s*=\s*"?yes`)

func firewallFound(what string) job.Check {
	return check("firewall", job.Fail, what+", expected no host firewall between the nodes", "")
}

func firewallRules(by, found string) job.Check {
	if found != "" {
		return firewallFound(by + " filters incoming packets (" + found + ")")
	}
	return check("firewall", job.Pass, by+" lets incoming packets through", "")
}

// filteringChain gives the first line of `nft list ruleset` by which a chain of the input hook turns packets
// away, or an empty text.
func filteringChain(rules string) string {
	input := false
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "chain "):
			input = false
		case strings.Contains(line, "hook input"):
			input = true
			if strings.Contains(line, "policy drop") {
				return line
			}
		case input && turnsAway.MatchString(line):
			return line
		}
	}
	return ""
}

var turnsAway = regexp.MustCompile(`\b(drop|reject)\b`)

// filteringRule does the same for `iptables -S INPUT`.
func filteringRule(rules string) string {
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		if line == "-P INPUT DROP" || strings.HasSuffix(line, "-j DROP") || strings.Contains(line, "-j REJECT") {
			return line
		}
	}
	return ""
}
