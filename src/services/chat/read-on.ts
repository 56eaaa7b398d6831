import type { Adapter } from '../../adapters/channel.ts';
import type { Config } from '../../config/load-config.ts';
import { isContent, type ChatDelta } from '../../domain/chat/chat-stream.ts';
import { SilenceTimer } from '../../platform/silence-timer.ts';

/** What is known of an answer's counts while it is read on. */
export interface CountsStatus {
  /** The provider has reported both counts, of what it had written then. */
  hasCounts: boolean;
  /** They came with the end of the answer or after it. */
  hasFinalCounts: boolean;
}

/** How far an answer is read on whose client has left. */
interface ReadOnLimits {
  ms: number;
  /** Of content. */
  charactersMax: number;
}

/** No client waits for these counts, and the credits of the client are held until they come. */
const READ_ON_MAX_SECONDS = 60;
/** The counts of a client that leaves at the end of its answer come within these. */
const SHORT_SECONDS = 10;
const SHORT_CHARACTERS = 512;

/**
 * Decides when the provider of an answer is left whose client has left (rules "Chat"). A provider that writes on is read to its end, because it
 * bills the whole answer. So is a model that thinks, because only the counts at the end tell how many tokens its hidden thoughts have. From
 * any other provider little more is read, for counts that are about to come. Counts in the middle of an answer suffice for a provider that
 * stops when it is left.
 */
export class ReadOn {
  readonly #leaving = new AbortController();
  readonly #left: AbortSignal;
  readonly #stopsAtHangUp: boolean;
  readonly #limits: ReadOnLimits;
  #counts: CountsStatus | null = null;
  #characters = 0;

  constructor(
    chat: Config['chat'],
    { stopsAtHangUp }: Pick<Adapter, 'stopsAtHangUp'>,
    { left, isThinking }: { left: AbortSignal; isThinking: boolean },
  ) {
    this.#left = left;
    this.#stopsAtHangUp = stopsAtHangUp === true;
    // No longer than a silence within an answer may last.
    const seconds = Math.min(READ_ON_MAX_SECONDS, chat.silenceSeconds);
    this.#limits =
      stopsAtHangUp && !isThinking
        ? { ms: Math.min(SHORT_SECONDS, seconds) * 1_000, charactersMax: SHORT_CHARACTERS }
        : { ms: seconds * 1_000, charactersMax: Infinity };
    if (left.aborted) this.#leave();
    else left.addEventListener('abort', this.#leave, { once: true });
  }

  /** Fires when the provider is to be left. */
  get signal(): AbortSignal {
    return this.#leaving.signal;
  }

  /** To be called when content has come: from now on the answer is worth its counts. */
  begin(counts: CountsStatus): void {
    this.#counts = counts;
    if (this.#left.aborted) this.#leave();
  }

  /** To be called with each part of the answer after it was collected. */
  heard(pieces: readonly ChatDelta[]): void {
    if (!this.#left.aborted) return;
    for (const piece of pieces) if (isContent(piece)) this.#characters += sizeOf(piece);
    if (this.#characters > this.#limits.charactersMax || this.#suffices()) this.#leaving.abort();
  }

  readonly #leave = (): void => {
    const isFree = this.#counts === null && this.#stopsAtHangUp;
    if (isFree || this.#suffices()) return this.#leaving.abort();
    new SilenceTimer(() => this.#leaving.abort()).start(this.#limits.ms).unref();
  };

  #suffices(): boolean {
    if (this.#counts === null) return false;
    return this.#counts.hasFinalCounts || (this.#stopsAtHangUp && this.#counts.hasCounts);
  }
}

const sizeOf = (piece: ChatDelta): number =>
  'text' in piece ? piece.text.length : piece.kind === 'tool_call' ? piece.arguments.length : 0;
