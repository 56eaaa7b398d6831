import { createHash, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../domain/errors.ts';
import { adminTokenPrefix, isPlausibleApiKey } from '../../platform/crypto/api-key.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { dialectOf } from '../dialects/dialect.ts';
import { allCredentials, bearerCredentials, hasKeyInQuery, isOfAzure } from '../request/credentials.ts';
import { statusOf } from '../response/error-status.ts';
import type { HttpDeps } from '../http-deps.ts';
import type { FailureThrottle } from '../rate-limits/failure-throttle.ts';

/**
 * Accepts a request with a valid API key, which it stores in `ctx.state.key`. Every other request gets the same 401. Runs before the
 * body is read, so that unknown clients cost no memory. A malformed key is refused without a look-up. Failures are throttled by
 * address only after the key was checked, so that a valid key is never refused for its address.
 */
export function demandApiKey(
  { authenticate }: Pick<HttpDeps, 'authenticate'>,
  failures: FailureThrottle,
): AppMiddleware {
  return async (ctx, next) => {
    if (ctx.querystring !== '' && hasKeyInQuery(new URLSearchParams(ctx.querystring)))
      throw refuse(ctx, failures, new GatewayError('invalid_api_key', { message: keyInQuery }));
    const credentials = allCredentials(ctx.req, ownHeaders(ctx));
    if (credentials.length > 1) throw new GatewayError('ambiguous_credentials');
    const [secret] = credentials;
    const key = secret !== undefined && isPlausibleApiKey(secret) ? await authenticate(secret) : null;
    if (!key) throw refuse(ctx, failures, new GatewayError('invalid_api_key', { message: unknownKeyMessage(secret) }));
    ctx.state.key = key;
    await next();
  };
}

/** The header in which Google's clients send the key, and that of Azure's. */
const ownHeaders = (ctx: AppContext): string[] =>
  dialectOf(ctx) === 'gemini' ? ['x-goog-api-key'] : isOfAzure(ctx) ? ['api-key'] : [];

/** Google's own API takes `?key=`, so the key may be a valid one. */
const keyInQuery = 'A key in the query string is refused, because URLs are logged. Send it in a header.';

/** Tells operators who mix up the two APIs. */
const unknownKeyMessage = (secret = ''): string | undefined =>
  secret.startsWith(adminTokenPrefix) ? 'An admin token opens the admin API only. Send an API key.' : undefined;

/**
 * Accepts a request with one of the configured tokens, and refuses every other one with `code`. Compares the digests of all tokens in
 * constant time, so that neither the length nor the prefix of a token leaks. Without a configured token every request is refused.
 */
export function demandToken(
  tokens: readonly string[],
  code: 'invalid_job_token' | 'invalid_metrics_token',
  failures: FailureThrottle,
): AppMiddleware {
  const digests = tokens.map(sha256);
  return async (ctx, next) => {
    if (digests.length === 0) {
      throw new GatewayError('service_unavailable', { message: 'No job token is configured.', shouldRetry: false });
    }
    const credentials = bearerCredentials(ctx.req);
    if (credentials.length > 1) throw new GatewayError('ambiguous_credentials');
    const sentDigest = sha256(credentials[0] ?? '');
    const matches = digests.filter((digest) => timingSafeEqual(digest, sentDigest));
    if (credentials.length === 0 || matches.length === 0) throw refuse(ctx, failures, new GatewayError(code));
    await next();
  };
}

/** For routes whose handler checks a credential of the body or the query: its refusals count as those of other credentials do. */
export function throttleRefusals(failures: FailureThrottle): AppMiddleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const isRefused = error instanceof GatewayError && statusOf[error.code] === 401;
      throw isRefused ? refuse(ctx, failures, error) : error;
    }
  };
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The refusal of a credential, which is throttled by address. */
export function refuse(ctx: AppContext, failures: FailureThrottle, refusal: GatewayError): GatewayError {
  const waitSeconds = failures.record(ctx.ip);
  if (waitSeconds === 0) return refusal;
  return new GatewayError('rate_limit_exceeded', {
    message: 'Too many requests with invalid credentials.',
    retryAfterSeconds: waitSeconds,
  });
}
