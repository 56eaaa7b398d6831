import { z } from 'zod';
import { LedgerList } from '../../../schemas/ledger-entry.ts';
import { Usage } from '../../../schemas/usage.ts';
import { Key, RotatedKey } from '../schemas/account.ts';
import { json, type Operation, type Parameter } from '../operation.ts';
import { pageParameters } from './shared.ts';

const unixSeconds = z.int().min(0).max(9_999_999_999);
const text = z.string().max(200);
const keyId: Parameter = { name: 'key_id', in: 'query', description: 'Of this key.', schema: text };

const fileName = { 'Content-Disposition': 'Of a table: the name of its file.' };

export const accountOperations: Record<string, Operation> = {
  'GET /api/v1/key': {
    summary: 'Read the key',
    description: 'What the key of the request may do and has left, at this moment.',
    tag: 'Account',
    answers: { 200: { description: 'The key.', content: json(Key) } },
  },
  'POST /api/v1/key/rotate': {
    summary: 'Rotate the key',
    description: 'Gives the key another secret. The previous one works for another day. At most ten times a day.',
    tag: 'Account',
    answers: { 200: { description: 'The new secret.', content: json(RotatedKey) } },
  },
  'GET /api/v1/usage': {
    summary: 'Add up the usage',
    description:
      "What the project's requests that ended in a range came to, exact at the time of the answer. With `Accept: text/csv` the rows are a table, without the total.",
    tag: 'Account',
    parameters: [
      { name: 'from', in: 'query', description: '30 days before `to` if absent.', schema: unixSeconds },
      {
        name: 'to',
        in: 'query',
        description: 'The end, not included; now if absent. At most 92 days after `from`.',
        schema: unixSeconds,
      },
      {
        name: 'group_by',
        in: 'query',
        description: 'Any of `day`, `model` and `key`, with commas; all if absent.',
        schema: z.string().regex(/^((day|model|key)(,(day|model|key))*)?$/),
      },
      {
        name: 'tz',
        in: 'query',
        description: 'The time zone that cuts the days; UTC if absent.',
        schema: z.string().regex(/^[\w+\-/]{0,64}$/),
      },
      keyId,
    ],
    answers: {
      200: { description: 'The sums.', content: { ...json(Usage), 'text/csv': z.string() }, sometimes: fileName },
    },
  },
  'GET /api/v1/ledger': {
    summary: 'List the ledger',
    description: "What moved the project's credits, newest first. With `Accept: text/csv` a page is a table.",
    tag: 'Account',
    parameters: [
      ...pageParameters,
      keyId,
      { name: 'task_id', in: 'query', description: 'About this task.', schema: text },
      { name: 'request_id', in: 'query', description: 'About the chat with this `x-request-id`.', schema: text },
    ],
    answers: {
      200: {
        description: 'A page of entries.',
        content: { ...json(LedgerList), 'text/csv': z.string() },
        sometimes: { ...fileName, Link: 'Of a table: the next page, as `<…>; rel="next"`.' },
      },
    },
  },
};
