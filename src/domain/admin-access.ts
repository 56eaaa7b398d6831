import type { Role } from './role.ts';

/** Who sends a request to the admin API, and what it may do. */
export interface AdminAccess {
  tokenId: string;
  name: string;
  role: Role;
  /** The end of the token, or of the session if that is earlier, in unix seconds; null for never. */
  expiresAt: number | null;
}

/** The name of a token's holder in the audit log. */
export const actorOf = ({ tokenId, name }: Pick<AdminAccess, 'tokenId' | 'name'>): string =>
  name === '' ? tokenId : `${name} (${tokenId})`;
