import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import protobuf from 'protobufjs';
import { z } from 'zod';
import { eventually } from './eventually.ts';

export interface ReceivedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentSpanId: string;
  name: string;
  attributes: Record<string, string | number | boolean>;
  links: { traceId: string; spanId: string }[];
  /** The class of the error with which it ended; null if it succeeded. */
  failure: string | null;
}

/** A collector of OpenTelemetry for tests: takes OTLP over HTTP and keeps the spans. */
export interface OtlpReceiver {
  url: string;
  spans: readonly ReceivedSpan[];
  /** The header `authorization` of the exports. */
  authorizations: ReadonlySet<string | undefined>;
  /** The spans of a trace in the order of their arrival. */
  trace(traceId: string): ReceivedSpan[];
  /** Resolves with the spans of a trace as soon as it has one of each name. */
  traceWith(traceId: string, names: readonly string[]): Promise<ReceivedSpan[]>;
  /** Every byte that was received, as text. */
  text(): string;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const authorizations = new Set<string | undefined>();
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      authorizations.add(request.headers.authorization);
      bodies.push(body);
      if (request.url === '/v1/traces') spans.push(...spansIn(body));
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  const trace = (traceId: string) => spans.filter((span) => span.traceId === traceId);
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    authorizations,
    trace,
    async traceWith(traceId, names) {
      const missing = () => {
        const there = new Set(trace(traceId).map(({ name }) => name));
        return names.filter((name) => !there.has(name));
      };
      await eventually(() => Promise.resolve(missing().length === 0), { secondsMax: 150 }).catch((cause: unknown) => {
        const there = trace(traceId).map(({ name }) => name);
        throw new Error(`the trace has no span ${missing().join(', ')}; it has ${there.join(', ')}`, { cause });
      });
      return trace(traceId);
    },
    text: () => Buffer.concat(bodies).toString('utf8'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The part of OTLP that the tests read (opentelemetry-proto, trace.proto and common.proto). */
const Request = protobuf.Root.fromJSON({
  nested: {
    AnyValue: {
      fields: {
        stringValue: { id: 1, type: 'string' },
        boolValue: { id: 2, type: 'bool' },
        intValue: { id: 3, type: 'int64' },
        doubleValue: { id: 4, type: 'double' },
        arrayValue: { id: 5, type: 'ArrayValue' },
      },
    },
    ArrayValue: { fields: { values: { id: 1, rule: 'repeated', type: 'AnyValue' } } },
    KeyValue: { fields: { key: { id: 1, type: 'string' }, value: { id: 2, type: 'AnyValue' } } },
    Resource: { fields: { attributes: { id: 1, rule: 'repeated', type: 'KeyValue' } } },
    Link: { fields: { traceId: { id: 1, type: 'bytes' }, spanId: { id: 2, type: 'bytes' } } },
    Status: { fields: { message: { id: 2, type: 'string' }, code: { id: 3, type: 'int32' } } },
    Span: {
      fields: {
        traceId: { id: 1, type: 'bytes' },
        spanId: { id: 2, type: 'bytes' },
        parentSpanId: { id: 4, type: 'bytes' },
        name: { id: 5, type: 'string' },
        attributes: { id: 9, rule: 'repeated', type: 'KeyValue' },
        links: { id: 13, rule: 'repeated', type: 'Link' },
        status: { id: 15, type: 'Status' },
      },
    },
    ScopeSpans: { fields: { spans: { id: 2, rule: 'repeated', type: 'Span' } } },
    ResourceSpans: {
      fields: {
        resource: { id: 1, type: 'Resource' },
        scopeSpans: { id: 2, rule: 'repeated', type: 'ScopeSpans' },
      },
    },
    Request: { fields: { resourceSpans: { id: 1, rule: 'repeated', type: 'ResourceSpans' } } },
  },
}).lookupType('Request');

const Value = z.object({
  stringValue: z.string().optional(),
  boolValue: z.boolean().optional(),
  intValue: z.coerce.number().optional(),
  doubleValue: z.number().optional(),
  /** Of texts. */
  arrayValue: z.object({ values: z.array(z.object({ stringValue: z.string() })).default([]) }).optional(),
});
const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .default([])
  .transform((pairs) =>
    Object.fromEntries(
      pairs.map(({ key, value }) => [
        key,
        value.arrayValue?.values.map((item) => item.stringValue).join() ??
          value.stringValue ??
          value.boolValue ??
          value.intValue ??
          value.doubleValue ??
          '',
      ]),
    ),
  );
const Id = z
  .string()
  .default('')
  .transform((text) => Buffer.from(text, 'base64').toString('hex'));
const errorCode = 2;
const Span = z.object({
  traceId: Id,
  spanId: Id,
  parentSpanId: Id,
  name: z.string(),
  attributes: Attributes,
  links: z.array(z.object({ traceId: Id, spanId: Id })).default([]),
  status: z.object({ code: z.number().default(0), message: z.string().default('') }).default({ code: 0, message: '' }),
});
const Spans = z.object({
  resourceSpans: z
    .array(
      z.object({
        resource: z.object({ attributes: Attributes }),
        scopeSpans: z.array(z.object({ spans: z.array(Span).default([]) })).default([]),
      }),
    )
    .default([]),
});

function spansIn(body: Buffer): ReceivedSpan[] {
  const decoded = Request.toObject(Request.decode(body), { bytes: String, longs: String });
  return Spans.parse(decoded).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ status, ...span }) => ({
        ...span,
        service: String(resource.attributes['service.name']),
        failure: status.code === errorCode ? status.message : null,
      })),
    ),
  );
}
