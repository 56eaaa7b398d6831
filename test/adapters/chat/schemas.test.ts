import { describe, expect, it } from '@jest/globals';
import { toAnthropicSchema } from '../../../src/adapters/chat/anthropic-schema.ts';
import { plainToolSchema } from '../../../src/adapters/chat/plain-tool-schema.ts';
import { fromGeminiSchema } from '../../../src/domain/chat/gemini-schema.ts';
import type { JsonObject } from '../../../src/domain/json.ts';

const text = { type: 'string' };
const whole = { type: 'integer' };
const nothing = { type: 'null' };
const closed = { additionalProperties: false };

type Case = [what: string, schema: JsonObject, expected: JsonObject];

describe('a schema for the structured outputs of Anthropic', () => {
  it.each<Case>([
    [
      'an object or null',
      { type: ['object', 'null'], properties: { a: text } },
      { type: ['object', 'null'], properties: { a: text }, ...closed },
    ],
    [
      'an object or null without properties',
      { type: ['object', 'null'] },
      { type: ['object', 'null'], properties: {}, ...closed },
    ],
    ['a text or null', { type: ['string', 'null'] }, { type: ['string', 'null'] }],
    ['properties without a type', { properties: { a: text } }, { type: 'object', properties: { a: text }, ...closed }],
    [
      'a map',
      { type: 'object', additionalProperties: whole },
      { type: 'object', properties: {}, ...closed, description: '{additionalProperties: {"type":"integer"}}' },
    ],
    [
      'a map of a described member',
      {
        type: 'object',
        properties: { ages: { type: 'object', description: 'By name.', additionalProperties: whole } },
      },
      {
        type: 'object',
        properties: {
          ages: {
            type: 'object',
            properties: {},
            ...closed,
            description: 'By name.\n\n{additionalProperties: {"type":"integer"}}',
          },
        },
        ...closed,
      },
    ],
    [
      'an object that may have more members',
      { type: 'object', properties: { a: text }, additionalProperties: true },
      { type: 'object', properties: { a: text }, ...closed },
    ],
    ['one of two', { oneOf: [text, whole] }, { anyOf: [text, whole] }],
    [
      'two choices',
      { anyOf: [text, whole], oneOf: [{ maxLength: 3 }, nothing] },
      { anyOf: [text, whole], description: '{oneOf: [{"maxLength":3},{"type":"null"}]}' },
    ],
  ])('keeps or describes each constraint: %s', (_what, schema, expected) => {
    expect(toAnthropicSchema(schema)).toEqual(expected);
  });
});

describe('a schema in the words of Gemini that also takes null', () => {
  const nullable = true;

  it.each<Case>([
    ['a text', { type: 'STRING', nullable }, { type: ['string', 'null'] }],
    ['a list of types', { type: ['string', 'integer'], nullable }, { type: ['string', 'integer', 'null'] }],
    ['a list with null', { type: ['string', 'null'], nullable }, { type: ['string', 'null'] }],
    [
      'some texts',
      { type: 'STRING', enum: ['a', 'b'], nullable },
      { anyOf: [{ type: 'string', enum: ['a', 'b'] }, nothing] },
    ],
    ['a choice', { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }], nullable }, { anyOf: [text, whole, nothing] }],
    [
      'a choice of objects',
      { type: 'OBJECT', anyOf: [{ required: ['a'] }], nullable },
      { type: ['object', 'null'], anyOf: [{ required: ['a'] }, nothing] },
    ],
    ['a reference', { $ref: '#/$defs/a', nullable }, { anyOf: [{ $ref: '#/$defs/a' }, nothing] }],
    ['anything', { description: 'Anything.', nullable }, { description: 'Anything.' }],
    ['not null', { type: 'STRING', nullable: false }, text],
  ])('takes it as JSON Schema: %s', (_what, schema, expected) => {
    expect(fromGeminiSchema(schema)).toEqual(expected);
  });
});

describe('a property that several parts of the schema of a tool have', () => {
  const circle = { type: 'object', properties: { kind: { const: 'circle' }, size: whole }, required: ['kind', 'size'] };
  const square = { type: 'object', properties: { kind: { const: 'square' }, size: whole }, required: ['kind', 'size'] };
  const kinds = { anyOf: [{ const: 'circle' }, { const: 'square' }] };

  it.each<Case>([
    ['anyOf', { anyOf: [circle, square] }, { kind: kinds, size: whole }],
    ['oneOf', { oneOf: [circle, square] }, { kind: kinds, size: whole }],
    [
      'allOf',
      { allOf: [{ properties: { size: { minimum: 1 } } }, { properties: { size: { maximum: 9 } } }] },
      { size: { allOf: [{ minimum: 1 }, { maximum: 9 }] } },
    ],
    [
      'a choice and the schema itself',
      { properties: { kind: text }, oneOf: [circle, square] },
      { kind: { allOf: [kinds, text] }, size: whole },
    ],
    [
      'some alternatives and the schema itself',
      { properties: { kind: text }, anyOf: [circle, { properties: { other: {} } }] },
      { kind: text, size: whole, other: {} },
    ],
    [
      'some alternatives of two choices',
      { anyOf: [circle, { properties: {} }], oneOf: [square, {}] },
      { kind: kinds, size: whole },
    ],
    [
      'every alternative of one choice and some of another',
      { anyOf: [circle, square], oneOf: [{ properties: { kind: text } }, {}] },
      { kind: kinds, size: whole },
    ],
    [
      'references',
      { oneOf: [{ $ref: '#/$defs/circle' }, { $ref: '#/$defs/square' }], $defs: { circle, square } },
      { kind: kinds, size: whole },
    ],
  ])('keeps each of its schemas: %s', (_what, schema, properties) => {
    expect(plainToolSchema(schema)).toMatchObject({ type: 'object', properties });
  });

  it.each(['anyOf', 'oneOf', 'allOf'])('reads a definition once, however many references lead to it: %s', (key) => {
    const once = { $ref: '#/$defs/circle' };
    const rest = { $defs: { circle, square } };
    const many = Array.from({ length: 5_000 }, () => once);
    const other = { $ref: '#/$defs/square' };
    expect(plainToolSchema({ ...rest, [key]: [...many, other, ...many] })).toEqual(
      plainToolSchema({ ...rest, [key]: [once, other] }),
    );
  });

  it('is required once if every alternative requires it, however often', () => {
    const names = Array.from({ length: 5_000 }, () => 'size');
    expect(plainToolSchema({ anyOf: [{ required: ['kind', ...names] }, { required: names }] })).toMatchObject({
      required: ['size'],
    });
  });
});
