import { Worker } from 'node:worker_threads';
import { z } from 'zod';

/** Tokenizers by their names. `o200k` is OpenAI's, of all its models since GPT-4o. */
export type Tokenizer = 'o200k';

export interface TokenCounter {
  /** The tokens of each text, or null if they could not be counted in time. Never throws. */
  count(tokenizer: Tokenizer, texts: readonly string[]): Promise<number[] | null>;
  close(): Promise<void>;
}

const Counted = z.object({ id: z.number(), tokens: z.array(z.number()) });

/** More texts than this would wait for longer than an estimate is worth. */
const WAITING_MAX = 200;

/**
 * Counts tokens in a thread of its own, because a tokenizer's table takes time to load and tens of megabytes. The thread starts with the
 * first text and ends when it has had nothing to do for a while, which gives the memory back.
 */
export function createTokenCounter({ idleMs = 60_000, answerMs = 5_000 } = {}): TokenCounter {
  let thread: Worker | null = null;
  let idle: NodeJS.Timeout | undefined;
  let count = 0;
  const waiting = new Map<number, (tokens: number[] | null) => void>();

  const end = async (): Promise<void> => {
    clearTimeout(idle);
    const ending = thread;
    thread = null;
    for (const answer of waiting.values()) answer(null);
    waiting.clear();
    await ending?.terminate();
  };
  const start = (): Worker => {
    const started = new Worker(new URL('./token-thread.ts', import.meta.url));
    // A thread that counts must not keep a stopping process alive.
    started.unref();
    started.on('message', (message: unknown) => {
      const { id, tokens } = Counted.parse(message);
      waiting.get(id)?.(tokens);
    });
    started.on('error', () => {
      if (thread === started) void end();
    });
    return started;
  };

  return {
    count(tokenizer, texts) {
      if (waiting.size >= WAITING_MAX) return Promise.resolve(null);
      thread ??= start();
      clearTimeout(idle);
      const id = (count += 1);
      thread.postMessage({ id, tokenizer, texts });
      return new Promise((resolve) => {
        const answer = (tokens: number[] | null): void => {
          clearTimeout(late);
          waiting.delete(id);
          if (waiting.size === 0) idle = setTimeout(() => void end(), idleMs).unref();
          resolve(tokens);
        };
        const late = setTimeout(() => answer(null), answerMs);
        waiting.set(id, answer);
      });
    },
    close: end,
  };
}
