import type { ChatAnswered } from '../../services/chat/chat-input.ts';
import type { AppContext } from '../context.ts';
import { wordFor, type DialectWords } from '../dialects/dialect-words.ts';
import type { Reading } from '../dialects/reading.ts';

/** How the client of this request wants to be read: with `x-tollgate-strict: true` unknown fields are refused. */
export const readingOf = (ctx: AppContext): Reading => ({
  isStrict: ctx.get('x-tollgate-strict').trim().toLowerCase() === 'true',
  betas: ctx
    .get('anthropic-beta')
    .split(',')
    .map((beta) => beta.trim())
    .filter(Boolean),
});

/**
 * The value of `x-tollgate-ignored`: the fields that were left out, in the client's words; null if there are none. It names the first 20,
 * because clients and proxies refuse long headers.
 */
export function ignoredFields(leftOut: readonly string[] | undefined, words: DialectWords = {}): string | null {
  if (!leftOut || leftOut.length === 0) return null;
  // Several fields of the checks may be one of the client's.
  const named = [...new Set(leftOut.map((field) => wordFor(words, field)))];
  return [...named.slice(0, NAMED_MAX).map(printable), ...(named.length > NAMED_MAX ? ['...'] : [])].join(', ');
}

const NAMED_MAX = 20;

/** A field's name as a header can carry it. A client chooses the names of its fields. */
const printable = (name: string): string =>
  name
    .slice(0, 100)
    .replaceAll(/[^\x21-\x2b\x2d-\x7e]/g, (character) =>
      /[\ud800-\udfff]/.test(character) ? '%EF%BF%BD' : encodeURIComponent(character),
    );

export function tellIgnored(ctx: AppContext, ignored: string | null): void {
  const all = [ignored, ignoredHeaders(ctx)].filter((each) => each !== null);
  if (all.length > 0) ctx.set('x-tollgate-ignored', all.join(', '));
}

/** The headers of clients of LiteLLM, by which its proxy takes options; null if there are none. */
const ignoredHeaders = ({ headers }: AppContext): string | null =>
  ignoredFields(Object.keys(headers).filter((name) => name.startsWith('x-litellm-')));

/** The answer with a sentence about the fields that were left out. */
export function withWarning<Answer extends Pick<ChatAnswered, 'warning' | 'leftOut'>>(
  answer: Answer,
  words: DialectWords | undefined,
): Answer {
  const ignored = ignoredFields(answer.leftOut, words);
  if (ignored === null) return answer;
  const sentence = `The model was asked without fields that it does not take here: ${ignored}.`;
  return { ...answer, warning: answer.warning === undefined ? sentence : `${answer.warning} ${sentence}` };
}
