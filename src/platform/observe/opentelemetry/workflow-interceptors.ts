import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/workflow/index.js';
import { workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';
import { scheduledJobWorkflow } from '../../../domain/tasks/workflow-contract.ts';

/**
 * The interceptors in the bundle of workflows that are traced. Not for jobs: no request starts them, and a trace that begins in a workflow
 * is always recorded, whatever OTEL_TRACES_SAMPLER says. The trace of a job begins with its activity.
 */
export const interceptors = (): WorkflowInterceptors =>
  workflowInfo().workflowType === scheduledJobWorkflow
    ? {}
    : {
        inbound: [new OpenTelemetryInboundInterceptor()],
        outbound: [new OpenTelemetryOutboundInterceptor()],
        internals: [new OpenTelemetryInternalsInterceptor()],
      };
