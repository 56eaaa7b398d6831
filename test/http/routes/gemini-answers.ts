import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Gateway } from '../../support/gateway.ts';
import type { RawAnswer } from '../../support/raw-request.ts';
import { expect } from '@jest/globals';

export const picture = 'aurora-image-1';

export const withText = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] });

export const hello = withText('hello');

const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==';

export const image = { inlineData: { mimeType: 'image/png', data: onePixel } };

export interface AskOptions {
  key?: string | null;
  headers?: Record<string, string>;
  /** The API server to call instead of the first one. */
  baseUrl?: string;
}

const Failure = z.strictObject({
  error: z.strictObject({
    code: z.int(),
    message: z.string().min(1),
    status: z.string(),
    details: z.array(z.looseObject({ '@type': z.string() })).min(1),
  }),
});

const ErrorInfo = z.object({ reason: z.string(), metadata: z.record(z.string(), z.string()) });

export function failureOf({ status, text, headers }: RawAnswer) {
  const { error } = Failure.parse(JSON.parse(text));
  expect(error.code).toBe(status);
  expect(headers['x-request-id']).toMatch(/^req_/);
  const { reason, metadata } = ErrorInfo.parse(error.details[0]);
  return { code: error.code, status: error.status, reason, metadata, message: error.message };
}

const Response = z.object({
  candidates: z
    .array(
      z.object({
        content: z.object({
          role: z.literal('model'),
          parts: z.array(
            z.object({
              text: z.string().optional(),
              inlineData: z.object({ mimeType: z.string(), data: z.string() }).optional(),
              fileData: z.object({ mimeType: z.string(), fileUri: z.string() }).optional(),
            }),
          ),
        }),
        finishReason: z.string(),
      }),
    )
    .length(1),
  usageMetadata: z.object({ promptTokenCount: z.number(), candidatesTokenCount: z.number() }),
  modelVersion: z.string(),
  responseId: z.string(),
});

export function responseOf({ status, text }: RawAnswer) {
  if (status !== 200) throw new Error(`expected 200, got ${status} ${text}`);
  const response = Response.parse(JSON.parse(text));
  return { ...response, parts: response.candidates[0]?.content.parts ?? [] };
}

/** Replaces the stored image of a task by a file of this size. */
export async function enlarge(gateway: Gateway, taskId: string, bytes: number): Promise<void> {
  const [file] = await gateway.database.query<{ storageKey: string }>(
    'test-enlarge',
    'update file set bytes = $2 where task_id = $1 returning storage_key',
    [taskId, bytes],
  );
  await writeFile(join(gateway.env['FILES_LOCAL_DIR'] ?? '', file?.storageKey ?? ''), Buffer.alloc(bytes, 'fox'));
}
