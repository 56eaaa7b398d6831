import { pipeline, Transform, type Readable } from 'node:stream';
import { createMemoryBudget } from '../platform/memory-budget.ts';

/**
 * What all downloads together send in one turn of the event loop: four reads of a file. Hundreds of readers that begin at the same
 * time would else fill each turn with hundreds of writes, and every other request takes several turns.
 */
const TURN_BYTES = 262_144;

/** Lets downloads take turns: projects alternate, and so do the downloads of one project. */
export function createPacer(): (source: Readable, owner: string) => Readable {
  const turns = createMemoryBudget(TURN_BYTES);
  return (source, owner) => {
    const gone = new AbortController();
    const paced = new Transform({
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
    // Each end destroys the other one. The errors are handled by whoever reads `paced`.
    pipeline(source, paced, () => undefined);
    return paced;
  };
}
