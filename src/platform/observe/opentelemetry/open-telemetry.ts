import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span as OpenSpan,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { within } from '../../pause.ts';
import { errorLabel, type Span, type SpanFacts, type Tracing } from '../tracer.ts';
import { createSampler, type SamplerName } from './sampler.ts';
import { temporalTracing } from './temporal-tracing.ts';

export interface TraceSettings {
  /** The base of the collector's addresses for OTLP over HTTP. */
  endpoint: string;
  /** Sent with each export, such as a token. */
  headers: Record<string, string>;
  serviceName: string;
  sampler: SamplerName;
  samplerArg: number;
}

/** What a process that is killed loses. */
const sendEveryMs = 1_000;
/** Spans that wait to be sent; more are dropped. Some kilobytes each. */
const waitingMax = 4_096;
/** Characters. Ours are ids and words; only the content of a project that has opted in is longer (`src/main/gen-ai-content.ts`). */
const valueMax = 200;
const contentMax = 20_000;
const closeMs = 2_000;

/**
 * Records spans with OpenTelemetry's SDK and sends them to a collector with OTLP over HTTP. Loaded only where traces are on. A process
 * calls it once, because Temporal's interceptors use the global context and propagator.
 */
export function createOpenTelemetry(
  { endpoint, headers, serviceName, sampler, samplerArg }: TraceSettings,
  onTrouble: (error: unknown) => void,
): Tracing {
  setGlobalErrorHandler(onTrouble);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const resource = resourceFromAttributes({ 'service.name': serviceName, 'process.pid': process.pid });
  const processor = new BatchSpanProcessor({
    exporter: new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces`, headers }),
    scheduledDelayMillis: sendEveryMs,
    maxQueueSize: waitingMax,
  });
  const provider = new TracerProvider({
    resource,
    sampler: createSampler(sampler, samplerArg),
    spanLimits: { attributeValueLengthLimit: contentMax },
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('tollgate');

  return {
    traceparent() {
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      return carrier.traceparent ?? null;
    },
    async resume(traceparent, name, work) {
      if (traceparent === null) return context.with(ROOT_CONTEXT, work);
      const stored = continued(traceparent);
      const span = spanOf([tracer.startSpan(name, {}, stored)], stored);
      try {
        return await span.run(work);
      } catch (error) {
        span.end(errorLabel(error));
        throw error;
      } finally {
        span.end();
      }
    },
    serve(name, traceparent) {
      const sent = continued(traceparent);
      return spanOf([tracer.startSpan(name, { kind: SpanKind.SERVER }, sent)], sent);
    },
    begin({ name, kind, facts = {}, startedAt }) {
      const here = context.active();
      // Also false of a span that has ended: what its request left running is not its part any more.
      if (!trace.getSpan(here)?.isRecording()) return null;
      const options = {
        kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: attributesOf(facts),
        ...(startedAt !== undefined && { startTime: startedAt }),
      };
      const first = tracer.startSpan(name, options, here);
      const linked = { ...options, links: [{ context: first.spanContext() }] };
      const others = otherMembers(here).map((memberContext) => tracer.startSpan(name, linked, memberContext));
      return spanOf([first, ...others], here.deleteValue(otherMembersKey));
    },
    note: (facts) => void trace.getActiveSpan()?.setAttributes(attributesOf(facts)),
    traceId: () => trace.getActiveSpan()?.spanContext().traceId,
    here: () => context.active(),
    together(contexts, work) {
      const spans = new Map<OpenSpan, Context>();
      for (const memberContext of contexts as readonly Context[]) {
        const span = trace.getSpan(memberContext);
        if (span?.isRecording()) spans.set(span, memberContext);
      }
      const [first = ROOT_CONTEXT, ...others] = spans.values();
      return context.with(others.length > 0 ? first.setValue(otherMembersKey, others) : first, work);
    },
    temporal: temporalTracing({ tracer, processor, resource }),
    async close() {
      await within(closeMs, provider.shutdown().catch(onTrouble));
    },
  };
}

/** The members of a batch beside the first, in whose context the batch runs. */
const otherMembersKey = createContextKey('the other members of a batch');
const otherMembers = (here: Context): Context[] => (here.getValue(otherMembersKey) as Context[] | undefined) ?? [];

/** `tracestate` is left out, because it is a client's text. */
const continued = (traceparent: string): Context => propagation.extract(ROOT_CONTEXT, { traceparent });

/** One span as `main` uses it. Its copies in the traces of other members end with it. */
function spanOf(spans: readonly [OpenSpan, ...OpenSpan[]], outside: Context): Span {
  const [first] = spans;
  const inside = trace.setSpan(outside, first);
  return {
    traceId: first.spanContext().traceId,
    run: (work) => context.with(inside, work),
    note: (facts) => spans.forEach((span) => span.setAttributes(attributesOf(facts))),
    rename: (name) => spans.forEach((span) => span.updateName(name)),
    end(failure) {
      if (!first.isRecording()) return;
      for (const span of spans) {
        if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
        span.end();
      }
    },
  };
}

const attributesOf = (facts: SpanFacts): Record<string, string | number | boolean | string[]> =>
  Object.fromEntries(
    Object.entries(facts)
      .filter(
        (fact): fact is [string, string | number | boolean | string[]] => fact[1] !== null && fact[1] !== undefined,
      )
      .map(([name, value]) => [
        name,
        typeof value === 'string' && !contentFacts.has(name) ? value.slice(0, valueMax) : value,
      ]),
  );

const contentFacts: ReadonlySet<string> = new Set([
  'gen_ai.system_instructions',
  'gen_ai.input.messages',
  'gen_ai.output.messages',
]);
