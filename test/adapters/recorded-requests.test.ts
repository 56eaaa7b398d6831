import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { recordRequests } from './record-requests.ts';

const saved: unknown = JSON.parse(readFileSync(new URL('./fixtures/recorded-requests.json', import.meta.url), 'utf8'));

describe('the shipped catalog', () => {
  it('sends byte for byte the recorded requests; node test/adapters/write-recorded-requests.ts records a wanted change', async () => {
    expect(await recordRequests()).toEqual(saved);
  });
});
