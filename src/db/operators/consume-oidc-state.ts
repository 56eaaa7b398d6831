import type { Statements } from '../database.ts';

/** Marks the state of a sign-in as used until it would have expired; false if it was used before. */
export async function consumeOidcState(
  inside: Statements,
  { stateSha256, seconds }: { stateSha256: string; seconds: number },
): Promise<boolean> {
  await inside.query('purge-oidc-states', 'delete from oidc_sign_in where expires_at <= clock_timestamp()');
  return inside.returnsRow(
    'consume-oidc-state',
    `insert into oidc_sign_in (state_sha256, expires_at) values ($1, clock_timestamp() + make_interval(secs => $2))
     on conflict (state_sha256) do nothing returning expires_at`,
    [stateSha256, seconds],
  );
}
