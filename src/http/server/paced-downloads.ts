import { pipeline, Transform, type Readable } from 'node:stream';
import { createMemoryBudget } from '../../platform/memory-budget.ts';
import type { AppContext } from '../context.ts';
import { whenGone } from './client-gone.ts';

/**
 * What all downloads together send in one turn of the event loop: eight reads of a file. Hundreds of readers that begin at the same
 * time would else fill each turn with hundreds of writes, and every other request takes several turns.
 */
const TURN_BYTES = 262_144;

/** Lets downloads take turns: projects alternate, and so do the downloads of one project. */
export function createPacer(): (source: Readable, owner: string) => Readable {
  const turns = createMemoryBudget(TURN_BYTES);
  return (source, owner) => {
    const gone = new AbortController();
    const paced = new Transform({
      // It keeps the chunk that waits for its turn, and none before or behind it.
      highWaterMark: 1,
      transform(chunk: Buffer, _encoding, done) {
        const bytes = Math.min(chunk.length, TURN_BYTES);
        void turns.take(bytes, { owner, signal: gone.signal }).then((release) => {
          done(null, chunk);
          if (release) setImmediate(release);
        });
      },
      destroy(error, done) {
        gone.abort();
        done(error);
      },
    });
    // Each end destroys the other one. The errors are handled by the reader of `paced`.
    pipeline(source, paced, () => undefined);
    return paced;
  };
}

/** Requests for files that go on in one turn of the event loop. The others wait, with the projects in turns. */
const TURN_REQUESTS = 16;

/** Spreads a burst of requests over turns of the event loop, so that other requests do not wait for the whole burst. */
export function createTurns(): { turn(ctx: Pick<AppContext, 'res'>, owner: string): Promise<void> } {
  const turns = createMemoryBudget(TURN_REQUESTS);
  return {
    async turn(ctx, owner) {
      const release = await turns.take(1, { owner, signal: whenGone(ctx) });
      if (release) setImmediate(release);
    },
  };
}
