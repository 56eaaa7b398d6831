import { loopbackCidrs } from '../../platform/egress/public-address.ts';

/**
 * The networks that clients' URLs may lead to under `npm start`, for its processes and for the command line beside them. An empty value is a
 * choice: then clients are treated as strictly as in production.
 */
export const allowedCidrs = (env: Record<string, string | undefined>): string =>
  env['EGRESS_ALLOW_CIDRS'] ?? loopbackCidrs.join(',');
