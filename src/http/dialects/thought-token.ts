import type { ToolCall } from '../../domain/chat/chat.ts';
import { thoughtKinds, type SignedThought, type ThoughtKind } from '../../domain/chat/thoughts.ts';

/**
 * A dialect has one field for the signature of a thought, in the format of its own vendor. A thought of another vendor, and one with an id,
 * stands there as `tollgate.KIND.ID.SIGNATURE`, so that it finds its way back. For a thought of Anthropic, which has no id, ID is its text: Anthropic
 * verifies it, and clients of OpenAI may drop it, because their encrypted content is the whole thought.
 */
type TokenKind = ThoughtKind | 'gemini_call';

/** The text for the signature field of a dialect whose own thoughts are of the kind `own`. */
export const toToken = ({ kind, text, id, signature }: SignedThought, own: ThoughtKind): string =>
  kind === own && id === undefined ? signature : join(kind, kind === 'anthropic' ? text : id, signature);

/** The thought in a signature field, or the signature of a tool call. `text` and `id` are those of the fields beside it. */
export function fromToken(
  token: string,
  own: ThoughtKind,
  beside: { text: string; id?: string },
): SignedThought | CallSignature {
  const [, kind, id, signature] = /^tollgate\.(\w+)\.([\w-]*)\.(.+)$/s.exec(token) ?? [];
  if (signature === undefined) return { kind: own, signature: token, ...beside };
  const named = id ? { id: Buffer.from(id, 'base64url').toString() } : {};
  if (kind === 'gemini_call') return { callId: named.id ?? '', signature };
  if (kind === 'anthropic') return { kind, text: beside.text || (named.id ?? ''), signature };
  const thoughtKind = thoughtKinds.find((one) => one === kind);
  return thoughtKind
    ? { kind: thoughtKind, text: beside.text, signature, ...named }
    : { kind: own, signature: token, ...beside };
}

/** Gemini signs its tool calls. Other dialects have no field for that, so the signature stands as a thought before its call. */
export interface CallSignature {
  callId: string;
  signature: string;
}

/** The token of a tool call's signature; undefined for a call without one. */
export const tokenOfCall = ({ id, signature }: Pick<ToolCall, 'id' | 'signature'>): string | undefined =>
  signature === undefined ? undefined : join('gemini_call', id, signature);

/** Gives the calls of one turn their signatures back. */
export const withSignatures = (calls: readonly ToolCall[], signatures: readonly CallSignature[]): ToolCall[] =>
  calls.map((call) => {
    const signature = signatures.find(({ callId }) => callId === call.id)?.signature;
    return signature === undefined ? call : { ...call, signature };
  });

const join = (kind: TokenKind, id: string | undefined, signature: string): string =>
  `tollgate.${kind}.${Buffer.from(id ?? '').toString('base64url')}.${signature}`;
