import { fieldsIn, fieldsInEach, firstFieldsIn, type EventFields } from '../chat/event-fields.ts';

/**
 * The seconds after which a provider wants to be asked again, as its error says; undefined if it does not. Google says it as `retryDelay` of
 * `google.rpc.RetryInfo` (https://ai.google.dev/gemini-api/docs/rate-limits), OpenRouter and others as `retry_after`, in the error, beside it or in
 * `metadata`, where the headers of the provider behind it may stand. Read on 2026-11-26.
 */
export function reportedDelay(json: unknown): number | undefined {
  const body = fieldsIn(json) ?? firstFieldsIn(json);
  const error = fieldsIn(body?.error);
  const metadata = fieldsIn(error?.metadata);
  const sources = [error, body, metadata, fieldsIn(metadata?.headers)];
  const delays = [
    ...fieldsInEach(error?.details).map(({ retryDelay }) => delayOf(retryDelay)),
    ...sources.flatMap((source) => (source ? delaysIn(source) : [])),
  ];
  return delays.find((delay) => delay !== undefined && delay > 0);
}

const delaysIn = (source: EventFields): (number | undefined)[] =>
  Object.entries(source).map(([name, value]) => {
    const word = name.toLowerCase().replaceAll(/[-_]/g, '');
    if (word === 'retryafterms') return thousandth(delayOf(value));
    return word === 'retryafter' || word === 'retryafterseconds' || word === 'retrydelay' ? delayOf(value) : undefined;
  });

const thousandth = (value: number | undefined): number | undefined => (value === undefined ? undefined : value / 1_000);

/** Seconds as a number, as text with or without the unit (`"17s"`, `"3.5s"`), or as a protobuf Duration. */
function delayOf(value: unknown): number | undefined {
  const delay = fieldsIn(value)?.seconds ?? value;
  const match = typeof delay === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*s?\s*$/.exec(delay)?.[1] : delay;
  const seconds = typeof match === 'string' ? Number(match) : match;
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds : undefined;
}
