import { queryOptions, useQuery, type QueryClient } from '@tanstack/react-query';
import { showMoneyAs } from '../ui/format.ts';
import { read } from './admin.ts';
import { ApiError } from './request.ts';
import type { Session } from './admin-types.ts';

export type Role = Session['role'];

/** Every page waits for the session, so it says sooner than after the 30 s of `read` that the gateway does not answer. */
const sessionMsMax = 8_000;

/** The session of this browser; null without a sign-in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () =>
    read('/session', {}, AbortSignal.timeout(sessionMsMax))
      .then((session) => {
        showMoneyOf(session);
        return session;
      })
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
      }),
  staleTime: 60_000,
});

/** Keeps the session of a person who has just signed in. */
export function storeSession(client: QueryClient, session: Session): void {
  showMoneyOf(session);
  client.setQueryData(sessionQuery.queryKey, session);
}

const showMoneyOf = ({ credit_value_micro_usd: creditValue, currency_sign: sign }: Session): void =>
  showMoneyAs({ creditValue, sign });

/** The ways to sign in other than with a token. */
export const signInQuery = queryOptions({
  queryKey: ['session-options'],
  queryFn: () => read('/session/options', {}),
  staleTime: 60_000,
});

const ranks: Record<Role, number> = { viewer: 0, operator: 1, owner: 2 };

/** Whether the signed-in person has this role or a higher one. The server holds to the roles; the console only hides the actions that the server would refuse. */
export function useMay(role: Role): boolean {
  const { data } = useQuery(sessionQuery);
  return data !== undefined && data !== null && ranks[data.role] >= ranks[role];
}
