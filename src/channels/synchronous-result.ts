import type { UpstreamOutput } from '../domain/upstream.ts';
import { splitDataUri } from '../domain/chat.ts';
import type { CallOutcome, UpstreamCall } from './call-upstream.ts';
import { classifySubmit, type ReadError } from './classify-outcome.ts';
import type { CallOptions, MediaInput, SubmitResult } from './channel.ts';
import { noOutputs } from './poll.ts';

/** A submit whose answer is the result. It may take minutes, and the images come in base64. */
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

/** Longer than any submit may run: the signal ends it first (`SUBMIT_AT_ONCE_TIMEOUT_SECONDS`). */
const ceilingMs = 600_000;

/** A 4k PNG has about 20 MB and a third more in base64, and some models return several. */
const inlineJsonBytesMax = 64_000_000;

/** The result of such a submit. `read` returns null for an unusable 2xx, and an empty list for a 2xx without outputs. */
export function classifySynchronous(
  outcome: CallOutcome,
  read: (json: unknown) => UpstreamOutput[] | null,
  readError: ReadError,
): SubmitResult {
  const attempt = classifySubmit(outcome, read, readError);
  if (attempt.kind !== 'ok') return attempt;
  if (attempt.value.length > 0) return { kind: 'done', outputs: attempt.value };
  return { ...noOutputs(), errorClass: 'content_policy', status: 200 };
}

/** The bytes of an input. Families that need bytes set `inputsAsBytes`, so a URL here is a bug. */
export function inlineInput(input: MediaInput): { mimeType: string; base64: string } {
  const inline = splitDataUri(input.url);
  if (!inline) throw new Error('An input of this family must be a data URI.');
  return inline;
}
