import {
  isGrpcServiceError,
  NamespaceNotFoundError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';

/** Whether there is no such workflow. Without the namespace every workflow is gone. */
export const isWorkflowGone = (error: unknown): boolean =>
  error instanceof WorkflowNotFoundError ||
  error instanceof NamespaceNotFoundError ||
  // What the client reads page by page fails with the error of gRPC itself.
  (isGrpcServiceError(error) && Number(error.code) === grpcNotFound);

export const grpcNotFound = 5;

/** Any gRPC error counts as "unavailable", because the database is enough to continue. */
export const isTemporalAway = (error: unknown): boolean =>
  error instanceof ServiceError ||
  error instanceof NamespaceNotFoundError ||
  error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
  error instanceof WorkflowUpdateFailedError ||
  isGrpcServiceError(error);
