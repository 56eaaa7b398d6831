import type { SpanContext, Tracer } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { OpenTelemetryWorkflowClientInterceptor } from '@temporalio/interceptors-opentelemetry/lib/client/index.js';
import { OpenTelemetryActivityInboundInterceptor } from '@temporalio/interceptors-opentelemetry/lib/worker/index.js';
import type {
  OpenTelemetrySinks,
  SerializableSpan,
} from '@temporalio/interceptors-opentelemetry/lib/workflow/definitions.js';
import type { InjectedSinks } from '@temporalio/worker';
import type { Tracing } from '../tracer.ts';

interface Recorder {
  tracer: Tracer;
  processor: SpanProcessor;
  resource: Resource;
}

/**
 * Carries the trace through Temporal with the interceptors of its SDK: in the header of the start or signal to the workflow, and from there
 * in the headers of its activities. The history has these headers, so that another worker continues the trace after a crash. Imported
 * file by file, because the whole package loads the older SDK that its workflows use.
 */
export const temporalTracing = ({ tracer, processor, resource }: Recorder): Tracing['temporal'] => ({
  client: new OpenTelemetryWorkflowClientInterceptor({ tracer }),
  worker: {
    interceptors: { activity: [(ctx) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(ctx, { tracer }) })] },
    sinks: workflowSpans(processor, resource),
  },
});

/**
 * Workflows have no clock and no network of their own: their spans leave by this sink. Spans that end in a replay were sent before. The
 * package's own sink is for the older SDK, and adds everything that is known about the workflow to each span.
 */
const workflowSpans = (processor: SpanProcessor, resource: Resource): InjectedSinks<OpenTelemetrySinks> => ({
  exporter: {
    export: {
      callDuringReplay: false,
      fn({ workflowId, runId }, spans) {
        for (const span of spans) {
          const attributes = { ...span.attributes, temporalWorkflowId: workflowId, run_id: runId };
          processor.onEnd({ ...readable(span), attributes, resource });
        }
      },
    },
  },
});

function readable({
  spanContext: own,
  parentSpanId,
  instrumentationLibrary,
  ...span
}: SerializableSpan): Omit<ReadableSpan, 'resource'> {
  const spanContext = withoutState(own);
  return {
    ...span,
    spanContext: () => spanContext,
    ...(parentSpanId !== undefined && { parentSpanContext: { ...spanContext, spanId: parentSpanId } }),
    instrumentationScope: instrumentationLibrary,
  };
}

const withoutState = ({ traceId, spanId, traceFlags }: Omit<SpanContext, 'traceState'>): SpanContext => ({
  traceId,
  spanId,
  traceFlags,
});
