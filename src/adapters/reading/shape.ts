import { isObject } from '../../domain/json.ts';

const depthMax = 4;
const membersMax = 12;
const lengthMax = 240;

/**
 * The shape of an answer for operators: its keys and the types of its values, never a value, because a value may quote a prompt. A key
 * that is no plain word is a question mark. At most 240 characters.
 */
export function shapeOf(json: unknown): string {
  const shape = describe(json, 0);
  return shape.length > lengthMax ? `${shape.slice(0, lengthMax - 1)}…` : shape;
}

function describe(value: unknown, depth: number): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return value === '' ? 'empty text' : 'text';
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return depth >= depthMax ? '[…]' : `[${describe(value[0], depth + 1)}${value.length > 1 ? ', …' : ''}]`;
  }
  if (!isObject(value)) return typeof value;
  const members = Object.entries(value);
  if (members.length === 0) return '{}';
  if (depth >= depthMax) return '{…}';
  const shown = members.slice(0, membersMax).map(([key, each]) => `${plainKey(key)}: ${describe(each, depth + 1)}`);
  return `{${shown.join(', ')}${members.length > membersMax ? ', …' : ''}}`;
}

const plainKey = (key: string): string => (/^[\w.@-]{1,40}$/.test(key) ? key : '?');
