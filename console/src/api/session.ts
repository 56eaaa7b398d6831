import { queryOptions, useQuery } from '@tanstack/react-query';
import { showMoneyAs } from '../ui/format.ts';
import { read } from './admin.ts';
import { ApiError } from './request.ts';
import type { Session } from './admin-types.ts';

export type Role = Session['role'];

const sessionMsMax = 8_000;

/** The session of this browser; null if nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () =>
    // A gateway that takes the connection and does not answer is away, too.
    read('/session', {}, AbortSignal.timeout(sessionMsMax))
      .then((session) => {
        showMoneyAs({ creditValue: session.credit_value_micro_usd, sign: session.currency_sign });
        return session;
      })
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
      }),
  staleTime: 60_000,
});

/** The ways to sign in beside a token. */
export const signInQuery = queryOptions({
  queryKey: ['session-options'],
  queryFn: () => read('/session/options', {}),
  staleTime: 60_000,
});

const ranks: Record<Role, number> = { viewer: 0, operator: 1, owner: 2 };

/** Whether the signed-in person has this role or a higher one. The server decides; the console only hides what it would refuse. */
export function useMay(role: Role): boolean {
  const { data } = useQuery(sessionQuery);
  return data !== undefined && data !== null && ranks[data.role] >= ranks[role];
}
