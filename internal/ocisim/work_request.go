// SPDX-License-Identifier: MPL-2.0

package ocisim

import (
	"slices"

	"github.com/oracle/oci-go-sdk/v65/workrequests"
)

// Operation types of work requests. Field reports name the reservation and the two of pools; the others
// follow the names of their operations.
const (
	opReserveNetwork   = "CreateClusterNetworkReservation"
	opTerminateNetwork = "TerminateClusterNetwork"
	opLaunchInPool     = "LaunchInstancesInPool"
	opTerminateInPool  = "TerminateInstancesInPool"
	opAttachInstance   = "AttachInstancePoolInstance"
	opDetachInstance   = "DetachInstancePoolInstance"
	opLaunchInstance   = "LaunchInstance"
	opTerminate        = "TerminateInstance"
	opUpdateInstance   = "UpdateInstance"
	opChangeVCN        = "UpdateVcn"
	opMoveInstance     = "ChangeInstanceCompartment"

	opCreateReservation = "CreateComputeCapacityReservation"
	opUpdateReservation = "UpdateComputeCapacityReservation"
	opDeleteReservation = "DeleteComputeCapacityReservation"
	opMoveReservation   = "ChangeComputeCapacityReservationCompartment"
)

// Entity types in work requests, with the path of their resources.
const (
	entityNetwork     = "clusterNetworks"
	entityPool        = "instancePools"
	entityInstance    = "instances"
	entityReservation = "computeCapacityReservations"
)

const codeOutOfCapacity = "OutOfCapacity"

// workRequest is the record of an asynchronous operation.
type workRequest struct {
	workrequests.WorkRequest
	record
	Errors []workrequests.WorkRequestError
	Logs   []workrequests.WorkRequestLogEntry
}

func (w *workRequest) compartment() string { return *w.CompartmentId }
func (w *workRequest) gone() bool          { return false }

func (w *workRequest) resourceIDs() []string {
	ids := make([]string, len(w.Resources))
	for n, r := range w.Resources {
		ids[n] = *r.Identifier
	}
	return ids
}

// newWorkRequest accepts an operation on a resource.
func (s *Server) newWorkRequest(operation, compartment, entity, id string, action workrequests.WorkRequestResourceActionTypeEnum) *workRequest {
	w := &workRequest{WorkRequest: workrequests.WorkRequest{
		OperationType: &operation, CompartmentId: &compartment, Id: ptr(s.names.ocid("coreservicesworkrequest")),
		Status: workrequests.WorkRequestStatusAccepted, PercentComplete: ptr[float32](0), TimeAccepted: s.timestamp(),
	}}
	w.touch(entity, id, action)
	s.store.workRequests.add(*w.Id, w)
	return w
}

// touch names one more resource of the operation; the caller tells of the change.
func (w *workRequest) touch(entity, id string, action workrequests.WorkRequestResourceActionTypeEnum) {
	w.Resources = append(w.Resources, workrequests.WorkRequestResource{
		ActionType: action, EntityType: &entity, Identifier: &id, EntityUri: ptr(v1 + "/" + entity + "/" + id)})
}

func (w *workRequest) open() bool {
	return w.Status == workrequests.WorkRequestStatusAccepted || w.Status == workrequests.WorkRequestStatusInProgress
}

// progress starts the operation or moves it on.
func (s *Server) progress(w *workRequest, done, of int) {
	if w.TimeStarted == nil {
		w.TimeStarted = s.timestamp()
		w.Status = workrequests.WorkRequestStatusInProgress
		s.logTo(w, *w.OperationType+" started")
	}
	if of == 0 {
		return
	}
	if percent := 100 * float32(done) / float32(of); percent != *w.PercentComplete {
		w.PercentComplete = &percent
		w.changed()
	}
}

func (s *Server) logTo(w *workRequest, message string) {
	w.Logs = append(w.Logs, workrequests.WorkRequestLogEntry{Message: &message, Timestamp: s.timestamp()})
	w.changed()
}

// fault notes an error, once for each text, in the errors and in the logs, where Oracle's own scripts look.
func (s *Server) fault(w *workRequest, code, message string) {
	same := func(e workrequests.WorkRequestError) bool { return *e.Message == message }
	if slices.ContainsFunc(w.Errors, same) {
		return
	}
	w.Errors = append(w.Errors, workrequests.WorkRequestError{Code: &code, Message: &message, Timestamp: s.timestamp()})
	s.logTo(w, message)
}

// finish ends an operation that is still open.
func (s *Server) finish(w *workRequest, status workrequests.WorkRequestStatusEnum) {
	if !w.open() {
		return
	}
	w.Status = status
	w.TimeFinished = s.timestamp()
	if status == workrequests.WorkRequestStatusSucceeded {
		w.PercentComplete = ptr[float32](100)
		s.logTo(w, *w.OperationType+" succeeded")
	}
	w.changed()
	w.forget(workRequestKept)
}

func (s *Server) succeed(w *workRequest) { s.finish(w, workrequests.WorkRequestStatusSucceeded) }

// conclude ends an operation as failed where it has errors.
func (s *Server) conclude(w *workRequest) {
	if len(w.Errors) > 0 {
		s.finish(w, workrequests.WorkRequestStatusFailed)
		return
	}
	s.succeed(w)
}

func (s *Server) cancel(w *workRequest) { s.finish(w, workrequests.WorkRequestStatusCanceled) }

// endWork ends the work request that a resource has open, if it has one; the caller tells of the change.
func (s *Server) endWork(open *string, end func(*workRequest)) {
	if w := s.store.workRequests.get(*open); w != nil {
		end(w)
	}
	*open = ""
}

func (s *Server) getWorkRequest(q *request) (response, error) {
	w, err := find(q.sees, s.store.workRequests, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return ok(w.WorkRequest)
}

func (s *Server) listWorkRequests(q *request) (response, error) {
	compartment, err := q.compartment()
	if err != nil {
		return response{}, err
	}
	var rows []row
	for _, w := range s.store.concerningOrAll(q.query.Get("resourceId")) {
		if w.compartment() != compartment {
			continue
		}
		rows = append(rows, row{at: w.position, item: workrequests.WorkRequestSummary{
			OperationType: w.OperationType, Status: workrequests.WorkRequestSummaryStatusEnum(w.Status),
			Id: w.Id, CompartmentId: w.CompartmentId, PercentComplete: w.PercentComplete,
			TimeAccepted: w.TimeAccepted, TimeStarted: w.TimeStarted, TimeFinished: w.TimeFinished}})
	}
	return page(q, rows)
}

func (s *Server) listWorkRequestErrors(q *request) (response, error) {
	w, err := find(q.sees, s.store.workRequests, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return page(q, rowsOf(w.Errors))
}

func (s *Server) listWorkRequestLogs(q *request) (response, error) {
	w, err := find(q.sees, s.store.workRequests, q.PathValue("id"))
	if err != nil {
		return response{}, err
	}
	return page(q, rowsOf(w.Logs))
}

func rowsOf[T any](items []T) []row {
	rows := make([]row, len(items))
	for i, item := range items {
		rows[i] = row{at: uint64(i), item: item} // #nosec G115 -- an index
	}
	return rows
}
