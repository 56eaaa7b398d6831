import type { Config } from '../config/load-config.ts';
import { describeError } from '../platform/observe/describe-error.ts';
import type { Tracing } from '../platform/observe/tracer.ts';

/** A collector that is away fails every export, which comes every few seconds. */
const troubleEveryMs = 60_000;

/**
 * Starts to record traces if a collector is configured, else returns null and loads no package of OpenTelemetry. `onTrouble` is told at
 * most once a minute that spans could not be sent.
 */
export async function startTracing(
  { endpoint, headers, serviceName, sampler, samplerArg }: Config['traces'],
  name: string,
  onTrouble: (trouble: { error: object }) => void,
): Promise<Tracing | null> {
  if (endpoint === '') return null;
  const { createOpenTelemetry } = await import('../platform/observe/opentelemetry/open-telemetry.ts');
  let reportedAt = -troubleEveryMs;
  const tell = (error: unknown): void => {
    if (performance.now() - reportedAt < troubleEveryMs) return;
    reportedAt = performance.now();
    onTrouble({ error: describeError(error) });
  };
  return createOpenTelemetry(
    {
      endpoint,
      headers: Object.fromEntries(headers),
      serviceName: serviceName === '' ? `tollgate-${name}` : serviceName,
      sampler,
      samplerArg,
    },
    tell,
  );
}
