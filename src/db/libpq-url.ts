/**
 * A URL of PostgreSQL for node-postgres, with `sslmode`, `sslrootcert`, `sslcert` and `sslkey` as libpq means them (PostgreSQL documentation,
 * "SSL Support"): `require` encrypts and verifies the chain only if `sslrootcert` names a CA, `verify-ca` verifies the chain, and
 * `verify-full` also the name of the host. node-postgres alone verifies everything from `require` on. `allow` and `prefer` encrypt always,
 * because node-postgres does not try again without TLS. `sslrootcert=system` means the CAs of Node.js and of NODE_EXTRA_CA_CERTS.
 */
export function asLibpqUrl(url: string): string {
  const parsed = URL.parse(url);
  const mode = parsed?.searchParams.get('sslmode');
  // `no-verify` is a word of node-postgres.
  if (!parsed || mode === undefined || mode === null || mode === 'no-verify') return url;
  const { searchParams } = parsed;
  if (searchParams.has('uselibpqcompat')) return url;
  if (mode === 'allow') searchParams.set('sslmode', 'prefer');
  if (searchParams.get('sslrootcert') === 'system') searchParams.delete('sslrootcert');
  searchParams.set('uselibpqcompat', 'true');
  return parsed.href;
}
