import { z } from 'zod';
import { beginOidcSession } from '../../db/operators/admin-access.ts';
import type { Deps } from '../../deps.ts';
import type { AdminAccess, OidcIdentity } from '../../domain/operators/admin-access.ts';
import { GatewayError } from '../../domain/errors.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';
import { OidcRefused, OidcUnavailable, type OidcClient } from '../../platform/oidc/oidc-client.ts';
import { newSession, sessionSeconds, type BegunSession } from './admin-access.ts';

export type OidcDeps = Pick<Deps, 'db' | 'config' | 'sealer' | 'logger'> & {
  /** Null where no identity provider is configured. */
  oidc: OidcClient | null;
};

/** Long enough for a second factor at the identity provider. */
export const oidcSignInSeconds = 600;

/**
 * The address at the identity provider where a person signs in, and the sealed text that the browser keeps until it comes back. Throws
 * `GatewayError` if no identity provider is configured or the configured one does not answer.
 */
export async function beginOidcSignIn(deps: OidcDeps): Promise<{ url: string; kept: string }> {
  const { url, checks } = await configured(deps).begin().catch(refusal(deps));
  const kept: z.input<typeof Kept> = { ...checks, until: Date.now() + oidcSignInSeconds * 1_000 };
  return { url, kept: deps.sealer.seal(JSON.stringify(kept), context) };
}

/**
 * Begins a session of the person whom the identity provider sent back with this query. Throws `GatewayError` for an answer that fails a
 * check or is used a second time, and `UnknownOperator` for a person whom no owner entered.
 */
export async function completeOidcSignIn(
  deps: OidcDeps,
  { query, kept }: { query: string; kept: string | undefined },
): Promise<BegunSession & { access: AdminAccess }> {
  const oidc = configured(deps);
  const checks = checksOf(deps, kept);
  if (!checks) throw new GatewayError('sign_in_failed', { message: notBegunHere(oidc) });
  const identity = await oidc.complete(query, checks).catch(refusal(deps));
  const { session, digest } = newSession(deps);
  const begun = await beginOidcSession(deps.db, identity, {
    digest,
    seconds: sessionSeconds,
    stateSha256: sha256Hex(checks.state),
    stateSeconds: oidcSignInSeconds,
  });
  if (begun === 'unknown') {
    deps.logger.warn(identity, 'a person whom no owner entered tried to sign in by OIDC');
    throw new UnknownOperator(identity);
  }
  if (begun === 'used')
    throw new GatewayError('sign_in_failed', { message: 'This sign-in has begun a session already. Begin again.' });
  return { session, ...begun };
}

/** A person who signed in at the identity provider, and whom no owner entered. */
export class UnknownOperator extends GatewayError {
  readonly identity: OidcIdentity;
  /** What an owner runs to let the person in. */
  readonly command: string;

  constructor(identity: OidcIdentity) {
    const { issuer, subject } = identity;
    const command = `tollgate operators add --issuer ${shellWord(issuer)} --subject ${shellWord(subject)} --role viewer --name NAME`;
    super('unknown_operator', {
      message: `No owner has entered the subject ${subject} of ${issuer}. To do so: ${command}`,
    });
    this.identity = identity;
    this.command = command;
  }
}

/** A word that a shell takes as it is. The identity provider chooses the word, and an owner copies it. */
const shellWord = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const Kept = z.object({ state: z.string(), nonce: z.string(), codeVerifier: z.string(), until: z.number() });
const context = 'oidc_sign_in|cookie|browser';

function checksOf({ sealer }: OidcDeps, kept: string | undefined): z.output<typeof Kept> | null {
  if (kept === undefined) return null;
  try {
    const checks = Kept.parse(JSON.parse(sealer.open(kept, context)));
    return checks.until > Date.now() ? checks : null;
  } catch {
    // The browser may send anything.
    return null;
  }
}

const notBegunHere = ({ redirectUri }: OidcClient): string => {
  const { origin } = new URL(redirectUri);
  return `The sign-in did not begin in this browser within the last ${oidcSignInSeconds / 60} minutes. Open ${origin}/console and begin again.`;
};

function configured({ oidc }: OidcDeps): OidcClient {
  if (oidc) return oidc;
  const message = 'Sign-in by OIDC is not set up: OIDC_ISSUER is empty. Sign in with an admin token.';
  throw new GatewayError('not_found', { message });
}

const refusal =
  ({ oidc }: OidcDeps) =>
  (cause: unknown): never => {
    if (cause instanceof OidcUnavailable) {
      const message = `The identity provider ${oidc?.issuer} does not answer as it should. Try again later, or sign in with an admin token.`;
      throw new GatewayError('service_unavailable', { message, cause, retryAfterSeconds: 5 });
    }
    if (cause instanceof OidcRefused) {
      const message = `The identity provider ${oidc?.issuer} did not confirm the sign-in (${cause.message}). Begin again, or sign in with an admin token.`;
      throw new GatewayError('sign_in_failed', { message, cause });
    }
    throw cause;
  };
