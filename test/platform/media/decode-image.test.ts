import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  createImageDecoder,
  type DecodeOptions,
  type ImageDecoderSettings,
} from '../../../src/platform/media/decode-image.ts';
import { eventually } from '../../support/eventually.ts';
import { jpeg, plain, png } from '../../support/pictures.ts';
import { decodersOf } from '../../support/processes.ts';

const decoder = (settings: Partial<ImageDecoderSettings> = {}) => {
  const decode = createImageDecoder({
    concurrencyMax: 1,
    waitingMax: 1,
    timeoutSeconds: 120,
    pixelsMax: 40_000_000,
    memoryBytesMax: 110_000_000,
    bytesMax: 25_000_000,
    ...settings,
  });
  return (bytes: Buffer, options: Partial<DecodeOptions> = {}) => decode(bytes, { owner: 'prj_1', ...options });
};

const folder = mkdtempSync(join(tmpdir(), 'tollgate-decoder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void jest.restoreAllMocks());

/** Waits on it block this process. */
const still = new Int32Array(new SharedArrayBuffer(4));

/** Lets each decoder of this test stop itself when it starts, so that none has an answer before the test goes on. */
function stopDecoders(): void {
  const program = join(folder, 'stopped.sh');
  writeFileSync(program, '#!/bin/sh\nkill -STOP $$\n', { mode: 0o755 });
  jest.replaceProperty(process, 'execPath', program);
}

describe('createImageDecoder', () => {
  it('decodes one image, queues another one and refuses the third as busy', async () => {
    const decode = decoder();
    const picture = await png();
    const results = await Promise.all([decode(picture), decode(picture), decode(picture)]);
    expect(results.map((result) => (result.kind === 'ok' ? 'ok' : result.reason))).toEqual(['ok', 'ok', 'busy']);
    expect((await decode(picture)).kind).toBe('ok');
  });

  it('gives the next turn to a project that waits behind many pictures of another', async () => {
    const decode = decoder({ waitingMax: 7 });
    const picture = await png();
    const ended: string[] = [];
    const requests = ['prj_1', 'prj_1', 'prj_1', 'prj_1', 'prj_1', 'prj_1', 'prj_1', 'prj_1', 'prj_2'].map(
      async (owner) => {
        const { kind } = await decode(picture, { owner });
        if (kind === 'ok') ended.push(owner);
      },
    );
    await Promise.all(requests);
    expect(ended.filter((owner) => owner === 'prj_1')).toHaveLength(7);
    expect(ended.indexOf('prj_2')).toBeLessThanOrEqual(2);
  });

  it('kills a decoder that takes too long', async () => {
    stopDecoders();
    const slow = await decoder({ timeoutSeconds: 0.01 })(await jpeg(8, 8));
    expect(slow).toEqual({ kind: 'refused', reason: 'too_slow' });
    expect(decodersOf(process.pid)).toEqual([]);
  });

  it('reads the picture of a decoder that ended in time, though this process paused past the limit', async () => {
    const limitMs = 4_000;
    const decoding = decoder({ timeoutSeconds: limitMs / 1_000 })(await jpeg(8, 8));
    // The decoder gets its picture in a turn of the event loop, and then this process stands still.
    await sleep(100);
    await sleep(100);
    const endsAt = performance.now() + limitMs;
    const isDecoding = () => performance.now() < endsAt + 60_000 && decodersOf(process.pid).length > 0;
    while (performance.now() < endsAt || isDecoding()) Atomics.wait(still, 0, 0, 50);
    expect(await decoding).toMatchObject({ kind: 'ok', image: { width: 8, height: 8 } });
  });

  it('stops for an aborted signal, also in the queue, and decodes the next image', async () => {
    const decode = decoder();
    const gone = new AbortController();
    const picture = await jpeg(8, 8);
    stopDecoders();
    const stopped = Promise.allSettled([
      decode(picture, { signal: gone.signal }),
      decode(picture, { signal: gone.signal }),
    ]);
    await eventually(() => Promise.resolve(decodersOf(process.pid).length === 1));
    gone.abort();
    const aborted = { status: 'rejected', reason: { name: 'AbortError' } };
    expect(await stopped).toMatchObject([aborted, aborted]);
    jest.restoreAllMocks();
    expect((await decode(picture)).kind).toBe('ok');
  });

  it('refuses an image that is too large before or after decoding', async () => {
    const picture = await plain(1_000, 800).png({ progressive: true }).toBuffer();
    for (const [settings, reason] of [
      [{ pixelsMax: 799_999 }, 'too_many_pixels'],
      [{ memoryBytesMax: 2_399_999 }, 'too_many_pixels'],
      [{ bytesMax: 100 }, 'too_large'],
    ] as const) {
      expect(await decoder(settings)(picture)).toEqual({ kind: 'refused', reason });
    }
    expect((await decoder({ pixelsMax: 800_000, memoryBytesMax: 2_400_000 })(picture)).kind).toBe('ok');
  });
});
