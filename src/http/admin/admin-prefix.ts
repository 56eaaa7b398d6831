/** The beginning of every path of the admin API. */
export const adminPrefix = '/api/admin/v1';

/** Where an identity provider returns the browser: the end of the redirect URI that it is told. */
export const oidcCallbackPath = `${adminPrefix}/session/oidc/callback`;
