import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { GatewayError } from '../../../src/domain/errors.ts';
import { arrayOf, validate } from '../../../src/http/request/validate.ts';

const Body = z.strictObject({
  model: z.string().min(1),
  duration: z.number().int().max(15).optional(),
  images: z
    .array(z.strictObject({ url: z.string() }))
    .max(2)
    .optional(),
  content: z.union([z.string(), z.array(z.object({ text: z.string() }))]).optional(),
});

function refusalOf(body: unknown): { code: string; param: string | undefined; message: string } {
  try {
    validate(Body, body);
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('expected a refusal, but validate() accepted the body');
}

describe('validate', () => {
  it('returns the parsed body with default values', () => {
    expect(validate(z.object({ n: z.number().default(3) }), {})).toEqual({ n: 3 });
  });

  it.each([
    [{}, 'missing_parameter', 'model'],
    [{ model: 1 }, 'invalid_value', 'model'],
    [{ model: '' }, 'invalid_value', 'model'],
    [{ model: null }, 'invalid_value', 'model'],
    [{ model: 'm', duration: 16 }, 'invalid_value', 'duration'],
    [{ model: 'm', images: [{ url: 'a' }, {}] }, 'missing_parameter', 'images.1.url'],
    [{ model: 'm', images: [{ url: 'a', size: 1 }] }, 'unsupported_parameter', 'images.0.size'],
    [{ model: 'm', images: 'a' }, 'invalid_value', 'images'],
    [{ model: 'm', content: [{ text: 1 }] }, 'invalid_value', 'content.0.text'],
    [{ model: 'm', content: 7 }, 'invalid_value', 'content'],
    [{ model: 'm', seed: 1 }, 'unsupported_parameter', 'seed'],
    [[], 'invalid_value', undefined],
  ])('refuses %j as %s of %s', (body, code, param) => {
    expect(refusalOf(body)).toMatchObject({ code, param });
  });

  it('checks a list up to its first bad item and names that one', () => {
    let checked = 0;
    const even = z.number().refine((value) => {
      checked += 1;
      return value % 2 === 0;
    });
    const Lists = z.strictObject({ lists: arrayOf(arrayOf(even, { max: 1_000 }), { min: 1, max: 1_000 }) });
    const zeros = Array.from({ length: 500 }, () => 0);
    const body = { lists: [zeros, [0, 1, 1, 1], ...Array.from({ length: 998 }, () => [1])] };
    expect(() => validate(Lists, body)).toThrow(expect.objectContaining({ param: 'lists.1.1' }));
    expect(checked).toBe(502);
    expect(validate(Lists, { lists: [zeros] })).toEqual({ lists: [zeros] });
    expect(() => validate(Lists, { lists: [] })).toThrow(expect.objectContaining({ param: 'lists' }));
    expect(() => validate(Lists, { lists: [[...zeros, ...zeros, 0]] })).toThrow(
      expect.objectContaining({ param: 'lists.0' }),
    );
  });

  it('quotes at most 100 characters of an unknown field name', () => {
    const { param, message } = refusalOf({ model: 'm', ['x'.repeat(5_000)]: 1 });
    expect(param?.length).toBeLessThanOrEqual(100);
    expect(message.length).toBeLessThanOrEqual(150);
  });
});
