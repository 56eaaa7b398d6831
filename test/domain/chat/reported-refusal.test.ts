import { describe, expect, it } from '@jest/globals';
import { cleanedSentence, sharedParam } from '../../../src/domain/chat/reported-refusal.ts';

const names = { upstreamModel: 'gpt-5-mini-2026', model: 'mini', host: 'api.vendor.example' };

describe('what a provider says of a request that it refuses', () => {
  it.each([
    [
      "Invalid schema for function 'look': 'qq' is not a valid type",
      "Invalid schema for function 'look': 'qq' is not a valid type.",
    ],
    [
      'messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 5.2 MB > 5.0 MB',
      'messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 5.2 MB > 5.0 MB.',
    ],
    ['It is wrong. See https://vendor.example/docs for more.', 'It is wrong.'],
    ['The model gpt-5-mini-2026 takes no images.', 'The model mini takes no images.'],
    ['OpenAI refuses this field.', 'the provider refuses this field.'],
    ['First line\nsecond line', 'First line.'],
  ])('reaches the client as its first sentence: %s', (text, expected) => {
    expect(cleanedSentence(text, names)).toBe(expected);
  });

  it.each([
    'Your organization org-abc may not do this.',
    'The account of ann@example.com is closed.',
    'Incorrect API key provided: sk-abc.',
    'Ask api.vendor.example about it.',
    `The token ${'a'.repeat(50)} is wrong.`,
    '',
  ])('is not shown if it is about an account, a key or an address: %s', (text) => {
    expect(cleanedSentence(text, names)).toBeNull();
  });

  it.each([
    [{ message: '', param: 'tools[0].function.parameters' }, 'tools.0.function.parameters'],
    [{ message: '', param: 'tools.2' }, 'tools.2'],
    [{ message: 'tools.1.custom.input_schema: bad' }, 'tools.1.function.parameters'],
    [{ message: '', param: 'tools[0].function_declarations[3].parameters.properties' }, 'tools.3.function.parameters'],
    [{ message: 'messages.1.content.0.image: too large' }, 'messages'],
    [{ message: '', param: 'generationConfig.maxOutputTokens' }, 'max_tokens'],
    [{ message: '', param: 'random_seed' }, 'seed'],
    [{ message: 'no path' }, undefined],
    [{ message: '', param: 'secret stuff' }, undefined],
  ])('names the field by our name: %j', (refusal, expected) => {
    expect(sharedParam(refusal)).toBe(expected);
  });
});
