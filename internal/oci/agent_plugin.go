// SPDX-License-Identifier: MPL-2.0

package oci

import (
	"maps"
	"slices"

	"github.com/oracle/oci-go-sdk/v65/core"

	"github.com/ocihpc/terraform-provider-ocihpc/internal/shape"
)

// DefaultPlugins are the plugins of the agent that are switched without being asked for: those that
// configure and authenticate the RDMA interfaces of a node, where the shape has such. A shape that the
// catalog does not know has them if the interconnect needs them.
func (s Spec) DefaultPlugins() map[string]bool {
	known, found := shape.Lookup(s.Launch.Shape)
	if found && !known.IsRDMA() || !found && s.Interconnect == NoInterconnect {
		return nil
	}
	return map[string]bool{"Compute HPC RDMA Authentication": true, "Compute HPC RDMA Auto-Configuration": true}
}

// agentConfig switches the plugins; nil leaves all to OCI.
func (s Spec) agentConfig() *core.InstanceConfigurationLaunchInstanceAgentConfigDetails {
	all := s.DefaultPlugins()
	if all == nil {
		all = map[string]bool{}
	}
	maps.Copy(all, s.Launch.Plugins)
	if len(all) == 0 {
		return nil
	}
	config := &core.InstanceConfigurationLaunchInstanceAgentConfigDetails{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		state := core.InstanceAgentPluginConfigDetailsDesiredStateDisabled
		if all[name] {
			state = core.InstanceAgentPluginConfigDetailsDesiredStateEnabled
		}
		config.PluginsConfig = append(config.PluginsConfig, core.InstanceAgentPluginConfigDetails{Name: &name, DesiredState: state})
	}
	return config
}

// pluginsOf gives what a configuration says beyond the defaults. A default that it lacks counts as off.
func (s Spec) pluginsOf(config *core.InstanceConfigurationLaunchInstanceAgentConfigDetails) map[string]bool {
	read := map[string]bool{}
	for name := range s.DefaultPlugins() {
		read[name] = false
	}
	if config != nil {
		for _, plugin := range config.PluginsConfig {
			read[value(plugin.Name)] = plugin.DesiredState == core.InstanceAgentPluginConfigDetailsDesiredStateEnabled
		}
	}
	return s.beyondDefaults(read)
}

// beyondDefaults leaves out the plugins that would be switched so without being asked for.
func (s Spec) beyondDefaults(plugins map[string]bool) map[string]bool {
	defaults := s.DefaultPlugins()
	beyond := map[string]bool{}
	for name, on := range plugins {
		if standard, found := defaults[name]; !found || standard != on {
			beyond[name] = on
		}
	}
	if len(beyond) == 0 {
		return nil
	}
	return beyond
}
