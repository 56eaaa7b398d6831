import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mediaRoutes } from '../support/api-client.ts';
import { filesBelow } from '../support/files-below.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { startS3Server, type S3Server } from '../support/s3-server.ts';
import { png } from '../support/pictures.ts';
import { upload } from '../support/upload.ts';

let s3: S3Server;
let folder: string;
let gateway: Gateway;
beforeAll(async () => {
  s3 = await startS3Server();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-s3-'));
  gateway = await startGateway({ apis: 0, workers: 0, env: s3.env });
  // API server and worker have separate folders, as on two machines, and share only the bucket.
  await gateway.startApi({ FILES_LOCAL_DIR: join(folder, 'api') });
  await gateway.startWorker({ FILES_LOCAL_DIR: join(folder, 'worker') });
});
afterAll(async () => {
  await gateway.stop();
  await s3.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a gateway with an S3 bucket as file store', () => {
  it('sends an uploaded image upstream and serves the result, whole or as a range, without a shared folder', async () => {
    const { apiKey } = await gateway.project();
    const uploaded = await upload({ baseUrl: gateway.baseUrl, apiKey }, await png());
    const taskId = await gateway.accept(apiKey, mediaRoutes.image, {
      model: 'aurora-image-1',
      prompt: 'the same in watercolour',
      image: uploaded.id,
    });
    const task = await gateway.poll(apiKey, taskId);
    expect(task).toMatchObject({ status: 'succeeded', credits: { charged: 4 } });

    const [output] = task.output ?? [];
    if (!output) throw new Error('The task has no output');
    const whole = await fetch(output.url);
    expect(whole.headers.get('content-type')).toBe('image/png');
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(output.sha256);
    const part = await fetch(output.url, { headers: { range: 'bytes=1-3' } });
    expect([part.status, await part.text()]).toEqual([206, 'PNG']);

    expect(s3.requests.filter((line) => line.startsWith('GET uploads/'))).toHaveLength(1);
    const kept = [...s3.objects].map(([key, object]) => [key.split('/')[0], object.contentType, object.bytes.length]);
    expect(kept).toEqual([
      ['uploads', 'image/png', uploaded.bytes],
      ['outputs', 'image/png', bytes.length],
    ]);
    expect(await filesBelow(folder)).toEqual([]);
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });
});
