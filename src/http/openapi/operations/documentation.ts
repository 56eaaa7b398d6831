import { z } from 'zod';
import { json, type Operation } from '../operation.ts';
import { notModified, validated } from './shared.ts';

/** The answers of a page, which a browser may ask for again. */
const page = (type: string, description = 'The page.'): Operation['answers'] => ({
  200: { description, content: { [type]: z.string() }, headers: validated },
  304: notModified,
});

export const documentationOperations: Record<string, Operation> = {
  'GET /': {
    summary: 'What this is and where clients go on',
    description: 'A page for a browser (`Accept: text/html`), one line of JSON for a program.',
    tag: 'Documentation',
    answers: {
      200: {
        description: 'The addresses of the gateway.',
        content: {
          ...json(z.looseObject({ name: z.literal('tollgate'), version: z.string(), openai_base_url: z.string() })),
          'text/html': z.string(),
        },
        headers: validated,
      },
      304: notModified,
    },
  },
  'GET /api/v1/openapi.json': {
    summary: 'This document',
    description: 'OpenAPI 3.1. It names the models of the catalog, whatever a key may use.',
    tag: 'Documentation',
    answers: {
      200: {
        description: 'The document.',
        content: json(z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) })),
        headers: validated,
      },
      304: notModified,
    },
  },
  'GET /.well-known/webhook-keys.json': {
    summary: 'The public keys of callback signatures',
    description:
      'For `v1a` in `webhook-signature`. The first one signs now; callbacks that were signed before may need the others.',
    tag: 'Documentation',
    answers: {
      200: {
        description: 'The keys.',
        content: json(
          z.object({
            keys: z.array(z.object({ id: z.string(), algorithm: z.literal('ed25519'), public_key: z.string() })),
          }),
        ),
      },
    },
  },
  'GET /llms.txt': {
    summary: 'A guide for language models',
    tag: 'Documentation',
    answers: page('text/plain', 'Markdown.'),
  },
  'GET /docs': {
    summary: 'The reference as a page',
    tag: 'Documentation',
    answers: page('text/html'),
  },
  'GET /docs/assets/{name}': {
    summary: 'A part of the pages',
    tag: 'Documentation',
    parameters: [{ name: 'name', in: 'path', description: 'The name of the file.', schema: z.string() }],
    answers: {
      200: {
        description: 'The file.',
        content: { 'text/css': z.string(), 'text/javascript': z.string() },
        headers: validated,
      },
      304: notModified,
    },
    errors: ['not_found'],
  },
  'GET /docs/errors': {
    summary: 'The error codes as a page',
    tag: 'Documentation',
    answers: page('text/html'),
  },
  'GET /docs/errors/{code}': {
    summary: 'One error code as a page',
    tag: 'Documentation',
    parameters: [{ name: 'code', in: 'path', description: 'The `code` of an error.', schema: z.string() }],
    answers: page('text/html'),
    errors: ['not_found'],
  },
};
