import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writePrivate } from './json-file.ts';

const DevSecrets = z.object({
  key_peppers: z.string().min(1),
  master_keys: z.string().min(1),
  internal_job_token: z.string().min(32),
  postgres_password: z.string().min(1),
});
export type DevSecrets = z.infer<typeof DevSecrets>;

/**
 * The secrets of a state folder, created once. Throws if they are missing or damaged while the database exists, because new secrets
 * cannot unseal its values.
 */
export function devSecrets(home: string): DevSecrets {
  const path = join(home, 'secrets.json');
  if (existsSync(path)) {
    try {
      return DevSecrets.parse(JSON.parse(readFileSync(path, 'utf8')));
    } catch (cause) {
      throw new Error(`${path} cannot be read. Restore it, or start from an empty state with: npm start -- --fresh`, {
        cause,
      });
    }
  }
  if (existsSync(join(home, 'postgres'))) {
    throw new Error(
      `${path} is missing, but the database exists. Restore it, or start from an empty state with: npm start -- --fresh`,
    );
  }
  const secrets: DevSecrets = {
    key_peppers: `p1:${randomBytes(32).toString('base64')}`,
    master_keys: `k1:${randomBytes(32).toString('base64')}`,
    internal_job_token: randomBytes(32).toString('base64url'),
    postgres_password: randomBytes(24).toString('base64url'),
  };
  writePrivate(path, secrets);
  return secrets;
}
