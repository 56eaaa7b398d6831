import { z } from 'zod';
import { accessByToken, beginSession, endSession, type AccessDeps } from '../../services/operators/admin-access.ts';
import { creditValueOf } from '../../services/ledger/credit-value.ts';
import { actorOf, type AdminAccess } from '../../domain/operators/admin-access.ts';
import { GatewayError } from '../../domain/errors.ts';
import { roles } from '../../domain/operators/role.ts';
import { timestampOrNull } from '../../schemas/time.ts';
import { adminOf, type AppContext } from '../context.ts';
import { json } from '../description.ts';
import { endpoint, type Route } from '../route.ts';
import { validate } from '../request/validate.ts';
import { adminPrefix } from './admin-prefix.ts';
import { demandSameOrigin } from './same-origin.ts';
import { clearSessionCookie, isFromHttps, sessionOf, setSessionCookie } from './session-cookie.ts';

const SignIn = z.strictObject({ token: z.string().min(1).max(200) });

const Session = z
  .object({
    name: z.string(),
    actor: z.string().describe('How the audit log names whom it belongs to.'),
    role: z.enum(roles),
    expires_at: timestampOrNull.describe('Null for a token that never expires.'),
    credit_value_micro_usd: z.int().describe('What one credit is worth.'),
    currency_sign: z.string().describe('The sign before amounts of money.'),
    public_base_url: z.string().describe('Where clients reach the client API. Empty: where the console is.'),
  })
  .meta({ id: 'Session' });

/** Of an answer that begins or ends a session. */
export const setsCookie = { 'Set-Cookie': 'The cookie of the session, which scripts cannot read.' };

/** Sessions of the console, and sign-in by a token, which becomes a session whose secret only the browser's cookie has. */
export function sessionRoutes(deps: AccessDeps): Route[] {
  const shared = { path: `${adminPrefix}/session`, dialect: 'openai', tag: 'console' } as const;
  const own = { ...shared, auth: 'admin', role: 'viewer', body: 'none' } as const;
  return [
    endpoint({
      ...shared,
      auth: 'sign_in',
      method: 'POST',
      body: 'json',
      summary: 'sign in to the console with a token',
      accepts: { 'application/json': SignIn },
      answers: { 200: { description: 'Who is signed in.', content: json(Session), headers: setsCookie } },
      errors: ['invalid_admin_token', 'cross_site_request'],
      handler: (ctx) => signIn(deps, ctx),
    }),
    endpoint({
      ...own,
      method: 'GET',
      summary: 'show who is signed in',
      answers: { 200: { description: 'Who is signed in, or whose token was sent.', content: json(Session) } },
      handler: (ctx) => present(deps, adminOf(ctx)),
    }),
    endpoint({
      ...own,
      method: 'DELETE',
      summary: 'sign out',
      answers: {
        200: {
          description: 'The session has ended.',
          content: json(z.object({ ended: z.boolean().describe('False if there was none.') })),
          headers: setsCookie,
        },
      },
      async handler(ctx) {
        const session = sessionOf(ctx);
        const ended = session !== undefined && (await endSession(deps, session, adminOf(ctx)));
        clearSessionCookie(ctx);
        return { ended };
      },
    }),
  ];
}

/** Another site must not sign a visitor in either. */
async function signIn(deps: AccessDeps, ctx: AppContext): Promise<z.input<typeof Session>> {
  if (ctx.get('origin') !== '' || ctx.get('sec-fetch-site') !== '') demandSameOrigin(ctx);
  const { token } = validate(SignIn, ctx.request.body);
  const access = await accessByToken(deps, token);
  if (!access) throw new GatewayError('invalid_admin_token');
  const begun = await beginSession(deps, access);
  setSessionCookie(ctx, begun, isFromHttps(ctx));
  return present(deps, { ...access, expiresAt: begun.expiresAt });
}

const present = async (deps: AccessDeps, access: AdminAccess) => ({
  name: access.name,
  actor: actorOf(access),
  role: access.role,
  expires_at: access.expiresAt,
  credit_value_micro_usd: await creditValueOf(deps),
  currency_sign: deps.config.accounting.currencySign,
  public_base_url: deps.config.http.publicBaseUrl,
});
