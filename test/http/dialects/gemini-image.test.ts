import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GatewayError } from '../../../src/domain/errors.ts';
import { geminiPictures, readGeminiImage } from '../../../src/http/dialects/gemini/gemini-image.ts';
import { inGeminiWords } from '../../../src/http/dialects/gemini/gemini-params.ts';

const text = { text: 'a fox' };
const png = { inlineData: { mimeType: 'image/PNG', data: 'A-_A' } };

describe('a generateContent request to an image model', () => {
  it('is read into prompt, images and image options, in camelCase and in snake_case', () => {
    expect(
      readGeminiImage({
        contents: [{ role: 'user', parts: [text, png] }, { parts: [{ text: 'in snow' }] }],
        generationConfig: {
          candidateCount: 1,
          responseModalities: ['TEXT', 'IMAGE'],
          imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
          seed: 7,
        },
      }),
    ).toEqual({
      prompt: 'a fox\nin snow',
      images: ['data:image/png;base64,A+/A'],
      aspectRatio: '16:9',
      imageSize: '2K',
      seed: 7,
    });
    expect(
      readGeminiImage({
        contents: [{ parts: [{ inline_data: { mime_type: 'image/webp', data: 'AAAA' } }] }],
        generation_config: { image_config: { aspect_ratio: '1:1' } },
      }),
    ).toEqual({ prompt: '', images: ['data:image/webp;base64,AAAA'], aspectRatio: '1:1' });
  });

  it.each([['Image'], ['Text', 'Image'], ['image']])('may name its modalities in any case: %s %s', (...words) => {
    const body = { contents: [{ parts: [text] }], generationConfig: { responseModalities: words } };
    expect(readGeminiImage(body)).toEqual({ prompt: 'a fox', images: [] });
  });

  it.each<[Record<string, unknown>, string, string]>([
    [{}, 'missing_parameter', 'contents'],
    [{ contents: [] }, 'invalid_value', 'contents'],
    [{ contents: [{ parts: [{}] }] }, 'invalid_value', 'contents.0.parts.0'],
    [{ contents: [{ parts: [{ ...text, ...png }] }] }, 'invalid_value', 'contents.0.parts.0'],
    [{ contents: [{ role: 'model', parts: [text] }] }, 'invalid_value', 'contents.0.role'],
    [{ contents: [{ parts: [text] }], tools: [] }, 'unsupported_parameter', 'tools'],
    [
      { contents: [{ parts: [text] }], generationConfig: { temperature: 1 } },
      'unsupported_parameter',
      'generationConfig.temperature',
    ],
    [
      { contents: [{ parts: [text] }], generationConfig: { responseModalities: ['TEXT'] } },
      'invalid_value',
      'generationConfig.responseModalities',
    ],
  ])('is refused with the name of the wrong field: %j is %s of %s', (body, code, param) => {
    expect(() => readGeminiImage(body)).toThrow(expect.objectContaining({ code, param }));
  });

  it('either parses or throws a GatewayError for arbitrary JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        try {
          readGeminiImage(body);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError);
        }
      }),
    );
  });
});

describe('the generateContent response with images', () => {
  it('holds each image in order, inline or as a URL, and has the task id as responseId', () => {
    const pictures = [
      { mimeType: 'image/png', bytes: Buffer.from('abc') },
      { mimeType: 'image/webp', url: 'https://files.example/2' },
    ];
    expect(geminiPictures({ taskId: 'task_1', model: 'm', pictures })).toMatchObject({
      candidates: [
        {
          content: {
            role: 'model',
            parts: [
              { inlineData: { mimeType: 'image/png', data: 'YWJj' } },
              { fileData: { mimeType: 'image/webp', fileUri: 'https://files.example/2' } },
            ],
          },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
      modelVersion: 'm',
      responseId: 'task_1',
    });
  });
});

describe('inGeminiWords', () => {
  it('translates the field name in param and message and keeps every other member of the error', () => {
    const cause = new Error('inside');
    const refused = new GatewayError('invalid_value', {
      param: 'aspect_ratio',
      message: 'aspect_ratio must be 1:1; aspect_ratios are many.',
      retryAfterSeconds: 3,
      shouldRetry: false,
      taskId: 'task_1',
      cause,
    });
    expect(inGeminiWords(refused)).toMatchObject({
      code: 'invalid_value',
      param: 'generationConfig.imageConfig.aspectRatio',
      message: 'generationConfig.imageConfig.aspectRatio must be 1:1; aspect_ratios are many.',
      retryAfterSeconds: 3,
      shouldRetry: false,
      taskId: 'task_1',
      cause,
    });
  });

  it('returns errors without a Gemini field name, and values that are not errors, unchanged', () => {
    const others = [new GatewayError('model_not_found', { param: 'model' }), new GatewayError('overloaded'), null, 'x'];
    for (const other of others) expect(inGeminiWords(other)).toBe(other);
  });
});
