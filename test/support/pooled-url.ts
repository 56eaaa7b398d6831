/** The same URL through the PgBouncer of the run (`TEST_PGBOUNCER`, CONTRIBUTING.md); `url` itself where there is none. */
export function pooledUrlOf(url: string): string {
  const host = process.env['TEST_POOLER_HOST'];
  if (host === undefined) return url;
  const pooled = new URL(url);
  pooled.host = host;
  return pooled.href;
}
