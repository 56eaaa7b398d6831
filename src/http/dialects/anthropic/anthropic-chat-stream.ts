import type { ChatUsage } from '../../../domain/chat/chat.ts';
import type { ChatDelta } from '../../../domain/chat/chat-stream.ts';
import { statusOf } from '../../response/error-status.ts';
import { asEvents, type Framing } from '../../server/framing.ts';
import { anthropicError } from './anthropic.ts';
import {
  anthropicUsage,
  callBlock,
  emptyMessage,
  signatureBlocks,
  stopOf,
  thoughtBlock,
  type ReplyBlock,
} from './anthropic-chat-reply.ts';
import { tollgateOf } from '../chat-answer.ts';
import { namedEvent, type ChatStreamWriter, type StreamAbout } from '../chat-stream-writer.ts';
import { CallOrder } from '../call-order.ts';
import { toToken } from '../thought-token.ts';

/**
 * Writes the events of a streamed message (https://platform.claude.com/docs/en/build-with-claude/streaming, read 2026-11-22). The counts
 * and what the answer cost come with `message_delta`. `message_start` has what the provider has counted of the input by then, else an estimate, by
 * which agents decide when to shorten a conversation.
 */
export function anthropicStream(about: Omit<StreamAbout, 'includeUsage'>): ChatStreamWriter {
  const blocks = new Blocks();
  const order = new CallOrder();
  let isBegun = false;
  let counted: ChatUsage | null = null;
  const begin = (): string => {
    if (isBegun) return '';
    isBegun = true;
    const usage = anthropicUsage({
      reply: { ...nothing, usage: counted },
      usage: { input: counted?.inputTokens ?? about.inputTokens ?? 0, output: 0 },
    });
    return anthropicEvent('message_start', { message: { ...emptyMessage(about), usage } });
  };
  return {
    counted(usage) {
      counted = usage;
    },

    pieces: (deltas) => {
      const next = deltas.flatMap((delta) => order.next(delta));
      return next.length === 0 ? '' : begin() + next.map((delta) => blocks.write(delta)).join('');
    },

    end(answer) {
      const { reply } = answer;
      const opening = begin();
      const tollgate = tollgateOf(answer);
      const delta = { ...stopOf(reply), container: null };
      return [
        opening,
        ...order.rest().map((delta) => blocks.write(delta)),
        blocks.close(),
        anthropicEvent('message_delta', { delta, usage: anthropicUsage(answer), tollgate }),
        anthropicEvent('message_stop', {}),
      ].join('');
    },

    error: (error) => namedEvent('error', anthropicError(error, statusOf[error.code], about.requestId)),
  };
}

const nothing = { content: null, refusal: null, toolCalls: [], finishReason: 'stop' as const };

const anthropicEvent = (type: string, members: object): string => namedEvent(type, { type, ...members });

/** What a block is, or the index of the call that it is. */
type OpenBlock = 'text' | 'thinking' | 'whole' | number;

/** The blocks of one message. One is open at a time, and they are numbered in order. */
class Blocks {
  #index = -1;
  #open: OpenBlock | null = null;
  readonly #calls = new Set<number>();

  write(delta: ChatDelta): string {
    switch (delta.kind) {
      case 'text':
      case 'refusal':
        return this.#enter('text', { type: 'text', text: '', citations: null }) + this.#piece('text', delta.text);
      case 'reasoning':
        return (
          this.#enter('thinking', { type: 'thinking', thinking: '', signature: '' }) +
          this.#piece('thinking', delta.text)
        );
      case 'signed_thought':
        return this.#endOfThought(delta);
      case 'tool_call':
        return this.#call(delta);
      default:
        throw new Error(`${delta.kind} is no content`);
    }
  }

  /** Ends the open block. */
  close(): string {
    if (this.#open === null) return '';
    this.#open = null;
    return anthropicEvent('content_block_stop', { index: this.#index });
  }

  /** Begins a block, unless it is open. */
  #enter(block: OpenBlock, content: ReplyBlock): string {
    if (this.#open === block) return '';
    const closed = this.close();
    this.#open = block;
    this.#index += 1;
    return closed + anthropicEvent('content_block_start', { index: this.#index, content_block: content });
  }

  #piece(kind: 'text' | 'thinking', text: string): string {
    return this.#delta({ type: `${kind}_delta`, [kind]: text });
  }

  #delta(delta: object): string {
    return anthropicEvent('content_block_delta', { index: this.#index, delta });
  }

  #endOfThought({ thought }: Extract<ChatDelta, { kind: 'signed_thought' }>): string {
    if (thought.kind === 'anthropic_redacted') return this.#whole(thoughtBlock(thought));
    const opened = this.#enter('thinking', { type: 'thinking', thinking: '', signature: '' });
    return opened + this.#delta({ type: 'signature_delta', signature: toToken(thought, 'anthropic') }) + this.close();
  }

  #call({ index, id = '', name = '', arguments: text, signature }: Extract<ChatDelta, { kind: 'tool_call' }>): string {
    // Blocks come one after another, so a call that has ended cannot go on (call-order.ts).
    if (this.#calls.has(index) && this.#open !== index) throw new Error('a tool call goes on after its end');
    const before = signatureBlocks({ id, ...(signature !== undefined && { signature }) }).map((block) =>
      this.#whole(block),
    );
    const isNew = !this.#calls.has(index);
    this.#calls.add(index);
    const opened = this.#enter(index, callBlock({ id, name }));
    // Anthropic begins with an empty delta, and its SDK for Java throws for a call without any.
    const isWritten = isNew || text !== '';
    return before.join('') + opened + (isWritten ? this.#delta({ type: 'input_json_delta', partial_json: text }) : '');
  }

  /** A block that comes in one piece. Anthropic's Go SDK appends the delta of a signature to that of the start, which is empty. */
  #whole(content: ReplyBlock): string {
    const isSigned = content.type === 'thinking';
    const opened = this.close() + this.#enter('whole', isSigned ? { ...content, signature: '' } : content);
    const signed = isSigned ? this.#delta({ type: 'signature_delta', signature: content.signature }) : '';
    return opened + signed + this.close();
  }
}

/** Events of the Messages API. After a silence Anthropic's own `ping` is sent: some clients of that API know no comments. */
export const asMessageEvents = (): Framing => asEvents('event: ping\ndata: {"type": "ping"}\n\n');
