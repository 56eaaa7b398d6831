import { z } from 'zod';
import { Bytes } from '../schemas/file.ts';
import type { Answer, Operation } from '../operation.ts';
import { notModified } from './shared.ts';

const content: Answer['content'] = { '*/*': Bytes };

export const fileOperations: Record<string, Operation> = {
  'GET /files/{id}': {
    summary: 'Download a file',
    description: 'Takes no key: the signature in the URL is the permission. Supports `Range`.',
    tag: 'Files',
    parameters: [
      { name: 'id', in: 'path', description: 'The id of the file.', schema: z.string() },
      { name: 'expires', in: 'query', description: 'Unix seconds.', schema: z.string() },
      { name: 'signature', in: 'query', description: 'Made by the gateway.', schema: z.string() },
    ],
    answers: {
      200: { description: 'The bytes.', content },
      206: { description: 'One range of the bytes.', content, headers: { 'Content-Range': 'Which bytes.' } },
      304: notModified,
      416: {
        description: 'The range lies outside of the file.',
        headers: { 'Content-Range': 'The size of the file.' },
      },
    },
    errors: ['file_not_found'],
  },
};
