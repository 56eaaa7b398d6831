import type { Attempt, UpstreamOutput } from '../domain/upstream.ts';
import { splitDataUri } from '../domain/chat.ts';
import type { CallOutcome, UpstreamCall } from './call-upstream.ts';
import { classifySubmit, type ReadError } from './classify-outcome.ts';
import type { CallOptions, MediaInput, Operation, SubmitDone } from './channel.ts';
import { nothingMade } from './poll.ts';

/** The call of a submit with a synchronous result: it may take minutes and answers with pictures in base64. */
export const synchronousCall = (
  call: Pick<UpstreamCall, 'path' | 'headers' | 'body' | 'form'>,
  { signal, headersMs, timeoutMs }: CallOptions,
): UpstreamCall => ({
  method: 'POST',
  ...call,
  signal,
  headersMs: headersMs ?? ceilingMs,
  timeoutMs: timeoutMs ?? ceilingMs,
  bodyBytesMax: inlineJsonBytesMax,
});

/** Longer than any submit may run: the caller's signal ends it (`SUBMIT_AT_ONCE_TIMEOUT_SECONDS`). */
const ceilingMs = 600_000;

/** A 4k PNG is about 20 MB, a third more in base64; some models answer with several. Bytes. */
const inlineJsonBytesMax = 64_000_000;

/** The outcome of such a submit. `read` returns null for a 2xx that cannot be used, and an empty list for one without outputs. */
export function classifySynchronous(
  outcome: CallOutcome,
  read: (json: unknown) => UpstreamOutput[] | null,
  readError: ReadError,
): Attempt<Operation> | SubmitDone {
  const attempt = classifySubmit(outcome, read, readError);
  if (attempt.kind !== 'ok') return attempt;
  if (attempt.value.length > 0) return { kind: 'done', outputs: attempt.value };
  return { ...nothingMade('done without outputs'), errorClass: 'content_policy', status: 200 };
}

/** An input's bytes. Families that ask for them set `inputsAsBytes`, so a URL here is a bug of ours. */
export function inlineInput(input: MediaInput): { mimeType: string; base64: string } {
  const inline = splitDataUri(input.url);
  if (!inline) throw new Error('this family takes inputs as bytes only');
  return inline;
}
