// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"net/http"
	"slices"
)

// route binds an operation of OCI to its handler, which runs with the lock held.
type route struct {
	operation string
	method    string
	path      string
	handle    func(*Server, *request) (response, error)
}

// The versions of the API: of most services, and of limits.
const (
	v1       = "/20160918"
	limitsV1 = "/20190729"
)

var routes = slices.Concat(networkRoutes, []route{
	{"CreateInstanceConfiguration", "POST", v1 + "/instanceConfigurations", (*Server).createConfiguration},
	{"ListInstanceConfigurations", "GET", v1 + "/instanceConfigurations", (*Server).listConfigurations},
	{"GetInstanceConfiguration", "GET", v1 + "/instanceConfigurations/{id}", (*Server).getConfiguration},
	{"UpdateInstanceConfiguration", "PUT", v1 + "/instanceConfigurations/{id}", (*Server).updateConfiguration},
	{"DeleteInstanceConfiguration", "DELETE", v1 + "/instanceConfigurations/{id}", (*Server).deleteConfiguration},
	{"ChangeInstanceConfigurationCompartment", "POST", v1 + "/instanceConfigurations/{id}/actions/changeCompartment", (*Server).moveConfiguration},
	{"LaunchInstanceConfiguration", "POST", v1 + "/instanceConfigurations/{id}/actions/launch", (*Server).launchConfiguration},

	{"CreateComputeCluster", "POST", v1 + "/computeClusters", (*Server).createComputeCluster},
	{"ListComputeClusters", "GET", v1 + "/computeClusters", (*Server).listComputeClusters},
	{"GetComputeCluster", "GET", v1 + "/computeClusters/{id}", (*Server).getComputeCluster},
	{"UpdateComputeCluster", "PUT", v1 + "/computeClusters/{id}", (*Server).updateComputeCluster},
	{"DeleteComputeCluster", "DELETE", v1 + "/computeClusters/{id}", (*Server).deleteComputeCluster},
	{"ChangeComputeClusterCompartment", "POST", v1 + "/computeClusters/{id}/actions/changeCompartment", (*Server).moveComputeCluster},

	{"CreateClusterNetwork", "POST", v1 + "/clusterNetworks", (*Server).createNetwork},
	{"ListClusterNetworks", "GET", v1 + "/clusterNetworks", (*Server).listNetworks},
	{"GetClusterNetwork", "GET", v1 + "/clusterNetworks/{id}", (*Server).getNetwork},
	{"UpdateClusterNetwork", "PUT", v1 + "/clusterNetworks/{id}", (*Server).updateNetwork},
	{"TerminateClusterNetwork", "DELETE", v1 + "/clusterNetworks/{id}", (*Server).terminateNetwork},
	{"ChangeClusterNetworkCompartment", "POST", v1 + "/clusterNetworks/{id}/actions/changeCompartment", (*Server).moveNetwork},
	{"ListClusterNetworkInstances", "GET", v1 + "/clusterNetworks/{id}/instances", (*Server).listNetworkInstances},

	{"CreateInstancePool", "POST", v1 + "/instancePools", (*Server).createPool},
	{"ListInstancePools", "GET", v1 + "/instancePools", (*Server).listPools},
	{"GetInstancePool", "GET", v1 + "/instancePools/{id}", (*Server).getPool},
	{"UpdateInstancePool", "PUT", v1 + "/instancePools/{id}", (*Server).updatePool},
	{"TerminateInstancePool", "DELETE", v1 + "/instancePools/{id}", (*Server).terminatePool},
	{"StartInstancePool", "POST", v1 + "/instancePools/{id}/actions/start", actOnPool("START")},
	{"StopInstancePool", "POST", v1 + "/instancePools/{id}/actions/stop", actOnPool("STOP")},
	{"SoftstopInstancePool", "POST", v1 + "/instancePools/{id}/actions/softstop", actOnPool("SOFTSTOP")},
	{"ResetInstancePool", "POST", v1 + "/instancePools/{id}/actions/reset", actOnPool("RESET")},
	{"SoftresetInstancePool", "POST", v1 + "/instancePools/{id}/actions/softreset", actOnPool("SOFTRESET")},
	{"ChangeInstancePoolCompartment", "POST", v1 + "/instancePools/{id}/actions/changeCompartment", (*Server).movePool},
	{"ListInstancePoolInstances", "GET", v1 + "/instancePools/{id}/instances", (*Server).listPoolInstances},
	{"GetInstancePoolInstance", "GET", v1 + "/instancePools/{id}/instances/{instance}", (*Server).getPoolInstance},
	{"AttachInstancePoolInstance", "POST", v1 + "/instancePools/{id}/instances", (*Server).attachPoolInstance},
	{"DetachInstancePoolInstance", "POST", v1 + "/instancePools/{id}/actions/detachInstance", (*Server).detachPoolInstance},

	{"LaunchInstance", "POST", v1 + "/instances", (*Server).launchInstance},
	{"ListInstances", "GET", v1 + "/instances", (*Server).listInstances},
	{"GetInstance", "GET", v1 + "/instances/{id}", (*Server).getInstance},
	{"UpdateInstance", "PUT", v1 + "/instances/{id}", (*Server).updateInstance},
	{"TerminateInstance", "DELETE", v1 + "/instances/{id}", (*Server).terminateInstance},
	{"InstanceAction", "POST", v1 + "/instances/{id}", (*Server).instanceAction},
	{"ChangeInstanceCompartment", "POST", v1 + "/instances/{id}/actions/changeCompartment", (*Server).moveInstance},

	{"ListBootVolumeAttachments", "GET", v1 + "/bootVolumeAttachments", (*Server).listBootVolumeAttachments},
	{"GetBootVolumeAttachment", "GET", v1 + "/bootVolumeAttachments/{id}", (*Server).getBootVolumeAttachment},
	{"ListBootVolumes", "GET", v1 + "/bootVolumes", (*Server).listBootVolumes},
	{"GetBootVolume", "GET", v1 + "/bootVolumes/{id}", (*Server).getBootVolume},
	{"UpdateBootVolume", "PUT", v1 + "/bootVolumes/{id}", (*Server).updateBootVolume},
	{"DeleteBootVolume", "DELETE", v1 + "/bootVolumes/{id}", (*Server).deleteBootVolume},
	{"ListVolumes", "GET", v1 + "/volumes", (*Server).listNothing},
	{"ListVolumeAttachments", "GET", v1 + "/volumeAttachments", (*Server).listNothing},

	{"ListImages", "GET", v1 + "/images", (*Server).listImages},
	{"GetImage", "GET", v1 + "/images/{id}", (*Server).getImage},
	{"ListImageShapeCompatibilityEntries", "GET", v1 + "/images/{id}/shapes", (*Server).listImageShapes},
	{"GetImageShapeCompatibilityEntry", "GET", v1 + "/images/{id}/shapes/{shape}", (*Server).getImageShape},
	{"ListShapes", "GET", v1 + "/shapes", (*Server).listShapes},

	{"ListAvailabilityDomains", "GET", v1 + "/availabilityDomains", (*Server).listAvailabilityDomains},
	{"ListFaultDomains", "GET", v1 + "/faultDomains", (*Server).listFaultDomains},
	{"ListTagNamespaces", "GET", v1 + "/tagNamespaces", (*Server).listTagNamespaces},
	{"GetTagNamespace", "GET", v1 + "/tagNamespaces/{id}", (*Server).getTagNamespace},
	{"ListTags", "GET", v1 + "/tagNamespaces/{id}/tags", (*Server).listTags},
	{"GetTag", "GET", v1 + "/tagNamespaces/{id}/tags/{name}", (*Server).getTag},

	{"ListServices", "GET", limitsV1 + "/services", (*Server).listServices},
	{"ListLimitDefinitions", "GET", limitsV1 + "/limitDefinitions", (*Server).listLimitDefinitions},
	{"ListLimitValues", "GET", limitsV1 + "/limitValues", (*Server).listLimitValues},
	{"GetResourceAvailability", "GET", limitsV1 + "/services/{service}/limits/{limit}/resourceAvailability", (*Server).getResourceAvailability},

	{"CreateComputeCapacityReport", "POST", v1 + "/computeCapacityReports", (*Server).createCapacityReport},
	{"CreateComputeCapacityReservation", "POST", v1 + "/computeCapacityReservations", (*Server).createReservation},
	{"ListComputeCapacityReservations", "GET", v1 + "/computeCapacityReservations", (*Server).listReservations},
	{"GetComputeCapacityReservation", "GET", v1 + "/computeCapacityReservations/{id}", (*Server).getReservation},
	{"UpdateComputeCapacityReservation", "PUT", v1 + "/computeCapacityReservations/{id}", (*Server).updateReservation},
	{"DeleteComputeCapacityReservation", "DELETE", v1 + "/computeCapacityReservations/{id}", (*Server).deleteReservation},
	{"ChangeComputeCapacityReservationCompartment", "POST", v1 + "/computeCapacityReservations/{id}/actions/changeCompartment", (*Server).moveReservation},
	{"ListComputeCapacityReservationInstances", "GET", v1 + "/computeCapacityReservations/{id}/instances", (*Server).listReservationInstances},
	{"ListComputeCapacityReservationInstanceShapes", "GET", v1 + "/computeCapacityReservationInstanceShapes", (*Server).listReservationShapes},

	{"ListRegions", "GET", v1 + "/regions", (*Server).listRegions},
	{"GetCompartment", "GET", v1 + "/compartments/{id}", (*Server).getCompartment},

	{"ListWorkRequests", "GET", v1 + "/workRequests", (*Server).listWorkRequests},
	{"GetWorkRequest", "GET", v1 + "/workRequests/{id}", (*Server).getWorkRequest},
	{"ListWorkRequestErrors", "GET", v1 + "/workRequests/{id}/errors", (*Server).listWorkRequestErrors},
	{"ListWorkRequestLogs", "GET", v1 + "/workRequests/{id}/logs", (*Server).listWorkRequestLogs},
})

func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range routes {
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, unknown) })
	return mux
}

// unknown takes whatever has no route.
var unknown = route{handle: func(_ *Server, q *request) (response, error) {
	return response{}, notSimulated(q.Method + " " + q.URL.Path)
}}
