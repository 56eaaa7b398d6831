import { describe, expect, it } from '@jest/globals';
import { didYouMean, nearest } from '../../src/domain/nearest.ts';

const models = ['veo-3.1', 'gpt-5-mini', 'kling-3', 'kling-3-standard', 'flux-2-pro'];

describe('nearest', () => {
  it.each([
    ['veo-3', 'veo-3.1'],
    ['veo3.1', 'veo-3.1'],
    ['VEO-3.1', 'veo-3.1'],
    ['gpt5-mini', 'gpt-5-mini'],
    ['kling-4', 'kling-3'],
    ['KLING-3', 'kling-3'],
    ['gpt-5', 'gpt-5-mini'],
    ['kling-3-s', 'kling-3-standard'],
    ['ve', undefined],
    ['dall-e-3', undefined],
    ['', undefined],
    ['x'.repeat(10_000), undefined],
  ])('finds for %s: %s', (word, candidate) => {
    expect(nearest(word, models)).toBe(candidate);
  });

  it('suggests nothing where nothing is near', () => {
    expect(didYouMean('veo-3', models)).toBe(' Did you mean veo-3.1?');
    expect(didYouMean('dall-e-3', models)).toBe('');
  });
});
