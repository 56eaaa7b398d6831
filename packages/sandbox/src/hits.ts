import type { HeardDocument } from './heard-document.ts';

/** One call that the sandbox received. */
export interface Hit {
  channel: string;
  family: string;
  /** Method and path after the family, as called. */
  route: string;
  kind: 'chat' | 'submit' | 'poll' | 'cancel' | 'fetch';
  idempotency_key: string | null;
  /** ISO 8601. */
  at: string;
  /** Tokens sent so far, of a streamed chat. */
  sent?: number;
  /** Signed thoughts and signed calls of earlier turns that came with a chat. */
  signed?: number;
  /** The pictures of a chat, those of tool results among them. */
  pictures?: number;
  /** Tool calls of earlier turns that came with their result. */
  results?: number;
  /** The documents that came with a chat. */
  documents?: HeardDocument[];
  /** When the reader of a streamed chat left before its end. ISO 8601. */
  left_at?: string;
}

/** The last calls, each with its prompt. A poll, a cancel and a fetch have the prompt of their job. */
export function createHits() {
  let kept: { hit: Hit; prompt: string }[] = [];
  return {
    /** Returns the listed call, which a stream completes later. */
    record(call: Omit<Hit, 'at'>, prompt: string): Hit {
      const hit: Hit = { ...call, at: new Date().toISOString() };
      kept.push({ hit, prompt: prompt.slice(0, promptCharactersMax) });
      // The list is trimmed in steps, so that a long run does not shift all of it on every call.
      if (kept.length > keptMax * 1.2) kept = kept.slice(-keptMax);
      return hit;
    },
    /** `contains` (exact text), `channel` and `kind` narrow the list; oldest first. */
    list(query: URLSearchParams): Hit[] {
      const contains = query.get('contains') ?? '';
      return kept
        .filter(({ prompt }) => prompt.includes(contains))
        .map(({ hit }) => hit)
        .filter(
          ({ channel, kind }) => (query.get('channel') ?? channel) === channel && (query.get('kind') ?? kind) === kind,
        );
    },
  };
}
export type Hits = ReturnType<typeof createHits>;

const keptMax = 50_000;
const promptCharactersMax = 4_000;
