/** The same URL through the PgBouncer of the run (`TEST_PGBOUNCER`, CONTRIBUTING.md); `url` itself where there is none, or of a PostgreSQL of its own. */
export function pooledUrlOf(url: string): string {
  const host = process.env['TEST_POOLER_HOST'];
  const pooled = new URL(url);
  if (host === undefined || pooled.host !== new URL(process.env['TEST_DATABASE_URL'] ?? '').host) return url;
  pooled.host = host;
  return pooled.href;
}
