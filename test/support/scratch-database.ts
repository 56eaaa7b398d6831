import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface ScratchDatabase {
  url: string;
  /** Drops it, whoever is still connected. */
  drop(): Promise<void>;
}

/** An empty database of a random name on the server of TEST_DATABASE_URL. */
export async function createScratchDatabase(): Promise<ScratchDatabase> {
  const server = testServer('TEST_DATABASE_URL');
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asOwner(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asOwner(server, `drop database if exists ${name} with (force)`) };
}

/** What the run's global setup has started. */
export function testServer(name: 'TEST_DATABASE_URL' | 'TEST_TEMPORAL_ADDRESS'): string {
  const place = process.env[name];
  if (!place) throw new Error(`${name} is not set; run the tests with \`npm test\``);
  return place;
}

async function asOwner(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 30_000 });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
