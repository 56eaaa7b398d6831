import { describe, expect, it } from '@jest/globals';
import { fittingOutputs } from '../../../src/domain/tasks/fitting-outputs.ts';
import type { UpstreamOutput } from '../../../src/domain/channels/upstream.ts';

const files: Record<string, UpstreamOutput> = {
  clip: { url: 'https://x.test/a.mp4?sig=1' },
  clipByType: { url: 'https://x.test/a', mimeType: 'video/mp4' },
  clipByField: { url: 'https://x.test/b', kind: 'video' },
  picture: { url: 'https://x.test/a.png#x' },
  pictureByType: { url: 'https://x.test/c.mp4', mimeType: 'image/webp' },
  pictureInline: { url: 'data:image/png;base64,AAAA', mimeType: 'video/mp4' },
  sound: { url: 'https://x.test/a.mp3' },
  thumbnail: { url: 'https://x.test/t.png', kind: 'other' },
  unnamed: { url: 'https://x.test/file/17' },
};
const namesOf = (outputs: readonly UpstreamOutput[]): (string | undefined)[] =>
  outputs.map((output) => Object.keys(files).find((name) => files[name] === output));

describe('of the files that an answer tells', () => {
  it.each([
    ['video', ['clip', 'clipByType', 'clipByField', 'unnamed']],
    ['image', ['picture', 'pictureByType', 'pictureInline', 'unnamed']],
  ] as const)(
    'a task of the type %s gets those of its type and those that nobody names, in order',
    (type, expected) => {
      const { kept, left } = fittingOutputs(Object.values(files), type);
      expect(namesOf(kept)).toEqual(expected);
      expect(kept.length + left.length).toBe(Object.keys(files).length);
    },
  );

  it('all are kept if none is of the type of the task, so that the copy says what is wrong', () => {
    const only = [files['sound'], files['thumbnail']].filter((file) => file !== undefined);
    expect(fittingOutputs(only, 'video')).toEqual({ kept: only, left: [] });
    expect(fittingOutputs([], 'image')).toEqual({ kept: [], left: [] });
  });
});
