import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson } from '../../src/domain/canonical-json.ts';
import type { JsonValue } from '../../src/domain/json.ts';

describe('canonicalJson', () => {
  it('writes equal values identically, independent of key order and number notation', () => {
    const one = JSON.parse('{"b": [1.0, {"d": null, "c": "\\u00e9"}], "a": 1e2}') as JsonValue;
    const other = JSON.parse('{"a":100,"b":[1,{"c":"é","d":null}]}') as JsonValue;
    expect(canonicalJson(one)).toBe('{"a":100,"b":[1,{"c":"é","d":null}]}');
    expect(canonicalJson(other)).toBe(canonicalJson(one));
  });

  it('loses no part of a value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        expect(JSON.parse(canonicalJson(value as JsonValue))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
