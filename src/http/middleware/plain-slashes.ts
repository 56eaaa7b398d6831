import type { AppMiddleware } from '../context.ts';

/** The paths of other vendors' clients. */
const vendorPath = /^\/+(v1|v1beta|v1beta1)(?=\/)/;

/**
 * Reads the paths of other vendors' clients without repeated slashes and without one at the end: many programs join a base URL that ends with
 * a slash and a path that begins with one. On all other paths slashes count.
 */
export const plainSlashes: AppMiddleware = (ctx, next) => {
  const { path } = ctx;
  if (vendorPath.test(path)) {
    const plain = path.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '');
    if (plain !== path) ctx.path = plain;
  }
  return next();
};
