/**
 * The last characters of a secret, by which operators tell the credentials of a channel apart: four, and of a short secret at most
 * half of it.
 */
export const lastCharacters = (secret: string): string =>
  secret.slice(secret.length - Math.min(4, Math.floor(secret.length / 2)));
