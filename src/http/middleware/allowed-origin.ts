import type { Config } from '../../config/load-config.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { AppMiddleware } from '../context.ts';

/**
 * Refuses a request from a web page of another origin than those of `CORS_ORIGINS` and our own. The `Host` header is not asked, because
 * a page that rebinds its DNS name to this server sends a `Host` that matches its origin. Programs send no `Origin` and pass.
 */
export const demandAllowedOrigin =
  ({ corsOrigins, publicBaseUrl }: Pick<Config['http'], 'corsOrigins' | 'publicBaseUrl'>): AppMiddleware =>
  async (ctx, next) => {
    const origin = ctx.get('origin');
    if (origin === '' || corsOrigins.includes('*') || corsOrigins.includes(origin)) return next();
    if (publicBaseUrl !== '' && origin === new URL(publicBaseUrl).origin) return next();
    const message = `Pages of the origin ${quoted(origin)} may not use this address. The operator allows origins with CORS_ORIGINS.`;
    throw new GatewayError('origin_not_allowed', { message, param: 'Origin' });
  };
