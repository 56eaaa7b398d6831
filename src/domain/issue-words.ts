import type { z } from 'zod';

/**
 * What is wrong with a value that a schema refuses, as the end of a sentence that begins with the value's name. It is the `error` of a parse,
 * so that the messages which a schema brings itself come first. zod's own sentences have another subject and do not say what a union accepts.
 */
export function issueWords(issue: z.core.$ZodRawIssue): string | undefined {
  const { input } = issue;
  if (input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}${notThis(input)}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${listed(issue.values)}${notThis(input)}`;
    case 'unrecognized_keys':
      return `has members that are not known here: ${listed(issue.keys)}`;
    case 'invalid_key':
      return issue.issues[0]?.message;
    case 'invalid_union':
      return unionWords(issue.errors, notThis(input));
    case 'too_small':
      return boundWords('at least', issue.minimum, issue);
    case 'too_big':
      return boundWords('at most', issue.maximum, issue);
    case 'invalid_format':
      return `must ${issue.format === 'regex' ? `match ${issue.pattern}` : `be a valid ${issue.format}`}${notThis(input)}`;
    default:
      return undefined;
  }
}

const kinds: Record<string, string> = {
  array: 'a list',
  object: 'an object',
  record: 'an object',
  int: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
};

/** Of the branch that got furthest, which says most; of branches that refuse the value as a whole, what each accepts. */
function unionWords(branches: readonly (readonly z.core.$ZodIssue[])[], suffix: string): string {
  const first = branches.flatMap(([issue]) => (issue ? [issue] : []));
  const deepest = Math.max(...first.map(({ path }) => path.length));
  const words = first
    .filter(({ path }) => path.length === deepest)
    .map(({ path, message }) => [...path.map(String), message].join(' '));
  return [...new Set(words)].join(' or ').replaceAll(`${suffix} or must be `, ' or ');
}

function boundWords(bound: string, limit: number | bigint, { origin, input }: z.core.$ZodRawIssue): string {
  const unit = { string: 'character', array: 'item' }[String(origin)];
  if (unit === undefined) return `must be ${bound} ${limit}${notThis(input)}`;
  return `must have ${bound} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`;
}

const listed = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ');

/** The refused value, if it is short enough to say. */
const notThis = (value: unknown): string => {
  const text = Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : JSON.stringify(value);
  return text.length > 60 ? '' : `, not ${text}`;
};
