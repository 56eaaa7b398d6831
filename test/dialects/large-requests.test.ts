import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { dialectNames, dialects, families, familyNames, type DialectName, type FamilyName } from './matrix.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

/** Base64 of a picture, which the sandbox does not decode. */
const picture = (characters: number): string => 'iVBORw0K'.repeat(characters / 8);

/** Requests of more than 4 MB in all dialects to all families: they reach the provider. */
async function send(dialect: DialectName, family: FamilyName, characters: number, isStream: boolean, isPacked = false) {
  const client = dialects[dialect];
  const { gateway, apiKey } = scene;
  const prompt = `large ${dialect} ${family}`;
  const ask = { model: families[family], prompt, isStream, picture: picture(characters) };
  const text = JSON.stringify(client.body(ask));
  const response = await fetch(`${gateway.baseUrl}${client.path(ask)}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(isPacked && { 'content-encoding': 'gzip' }),
    },
    body: isPacked ? new Uint8Array(gzipSync(text)) : text,
  });
  return { status: response.status, text: await response.text() };
}
const answered = { status: 200, text: expect.stringContaining('Sand') };

describe.each(dialectNames)('a picture of 5 MB from a client of %s', (dialect) => {
  it.each(familyNames)('reaches %s, plain and compressed', async (family) => {
    expect(await send(dialect, family, 5_000_000, false)).toMatchObject(answered);
    expect(await send(dialect, family, 5_000_000, true, true)).toMatchObject(answered);
  });
});

it.each(dialectNames.map((dialect, at) => [dialect, familyNames[at] ?? 'Gemini'] as const))(
  'a request of nearly 32 MB from a client of %s reaches %s, whole and streamed',
  async (dialect, family) => {
    expect(await send(dialect, family, 31_900_000, false)).toMatchObject(answered);
    expect(await send(dialect, family, 31_900_000, true)).toMatchObject(answered);
  },
);
