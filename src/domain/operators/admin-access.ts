import type { Role } from './role.ts';

/** Who sends a request to the admin API, and what it may do: the holder of an admin token, or an operator who signed in by OIDC. */
export interface AdminAccess {
  /** The id of the admin token, `atk_…`, or of the operator, `opr_…`. */
  principalId: string;
  name: string;
  role: Role;
  /** The operator at its identity provider; null for an admin token. */
  identity: OidcIdentity | null;
  /** The end of the token, or of the session if that is earlier, in unix seconds; null for never. */
  expiresAt: number | null;
}

/** A person as an identity provider names it. The pair is unique and is never given to another person (OpenID Connect Core 1.0 §2). */
export interface OidcIdentity {
  issuer: string;
  subject: string;
}

/** The name in the audit log. */
export function actorOf({
  principalId,
  name,
  identity,
}: Pick<AdminAccess, 'principalId' | 'name' | 'identity'>): string {
  const id = identity === null ? principalId : personOf(identity);
  return name === '' ? id : `${name} (${id})`;
}

/** A person in a sentence. */
export const personOf = ({ issuer, subject }: OidcIdentity): string => `${subject} at ${issuer}`;
