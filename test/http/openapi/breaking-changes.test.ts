import { describe, expect, it } from '@jest/globals';
import { breakingChanges } from './breaking-changes.ts';

type Json = Record<string, unknown>;

const document = ({ body = {}, answer = {}, parameters = [], path = '/a' }: Json = {}): Json => ({
  paths: {
    [String(path)]: {
      post: {
        parameters,
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Body' } } } },
        responses: { 200: { content: { 'application/json': { schema: answer } } }, 400: {} },
      },
    },
  },
  components: { schemas: { Body: body } },
});

const object = (properties: Json, required: string[] = []): Json => ({ type: 'object', properties, required });
const text = { type: 'string' };

describe('breakingChanges', () => {
  it.each([
    ['a route that is gone', {}, { path: '/b' }, 'POST /a is gone'],
    [
      'a new required field',
      { body: object({}) },
      { body: object({ a: text }, ['a']) },
      'POST /a, body now requires a',
    ],
    [
      'a field of a closed body that is gone',
      { body: { ...object({ a: text }), additionalProperties: false } },
      { body: { ...object({}), additionalProperties: false } },
      'POST /a, body.a is gone',
    ],
    [
      'a value that is no longer accepted',
      { body: object({ a: { enum: ['x', 'y'] } }) },
      { body: object({ a: { enum: ['x'] } }) },
      'POST /a, body.a takes fewer values',
    ],
    [
      'a type that is no longer accepted',
      { body: object({ a: { type: ['string', 'null'] } }) },
      { body: object({ a: text }) },
      'POST /a, body.a has another type',
    ],
    [
      'a stricter bound',
      { body: object({ a: { type: 'integer', maximum: 10 } }) },
      { body: object({ a: { type: 'integer', maximum: 9 } }) },
      'POST /a, body.a has a stricter maximum',
    ],
    [
      'a new required parameter',
      {},
      { parameters: [{ in: 'query', name: 'q', required: true, schema: text }] },
      'POST /a now requires the parameter query q',
    ],
    [
      'a parameter that is gone',
      { parameters: [{ in: 'query', name: 'q', schema: text }] },
      {},
      'POST /a no longer takes the parameter query q',
    ],
    [
      'a member of an answer that is gone',
      { answer: object({ a: text }) },
      { answer: object({}) },
      'POST /a, answer 200.a is gone',
    ],
    [
      'a member of an answer that may be absent',
      { answer: object({ a: text }, ['a']) },
      { answer: object({ a: text }) },
      'POST /a, answer 200 no longer promises a',
    ],
    [
      'a member of an answer that may be null',
      { answer: object({ a: text }) },
      { answer: object({ a: { type: ['string', 'null'] } }) },
      'POST /a, answer 200.a has another type',
    ],
  ])('names %s', (_what, before, after, change) => {
    expect(breakingChanges(document(before), document(after))).toEqual([change]);
  });

  it('allows optional fields, wider values, and more members of answers', () => {
    const before = document({
      body: object({ a: { type: 'integer', maximum: 9 } }),
      answer: object({ a: { type: ['integer', 'null'] } }),
    });
    const after = document({
      body: object({ a: { type: ['number', 'null'], maximum: 10 }, b: text }),
      answer: object({ a: { type: 'integer' }, b: text }, ['a', 'b']),
      parameters: [{ in: 'query', name: 'q', schema: text }],
    });
    expect(breakingChanges(before, after)).toEqual([]);
  });
});
