import type { IncomingMessage } from 'node:http';

/**
 * The distinct credentials in a request's headers: `Authorization: Bearer` and `x-api-key` anywhere, `x-goog-api-key` on Gemini
 * routes (spec §5). A credential that is sent twice counts once. Other Authorization schemes are ignored.
 */
export function allCredentials(request: IncomingMessage, { gemini }: { gemini: boolean }): string[] {
  const names = gemini ? ['x-api-key', 'x-goog-api-key'] : ['x-api-key'];
  const plain = names.flatMap((name) => request.headersDistinct[name] ?? []).filter((value) => value !== '');
  return [...new Set([...bearerCredentials(request), ...plain])];
}

/**
 * The distinct Bearer credentials. Read from `headersDistinct`, because Node keeps only the first Authorization header.
 */
export function bearerCredentials(request: IncomingMessage): string[] {
  const headers = request.headersDistinct['authorization'] ?? [];
  return [...new Set(headers.flatMap((header) => /^bearer +(.+)$/i.exec(header)?.[1] ?? []))];
}

/**
 * Whether the query has a credential, or a parameter named like one. A key in a query is compromised, because every proxy on the
 * way logs it.
 */
export function hasKeyInQuery(query: URLSearchParams): boolean {
  for (const [name, value] of query) {
    if (value !== '' && credentialNames.has(name.toLowerCase())) return true;
    if (/\bsk-[A-Za-z0-9]/.test(value) || /^sk-[A-Za-z0-9]/.test(name)) return true;
  }
  return false;
}

const credentialNames = new Set(['key', 'api_key', 'apikey', 'api-key', 'x-api-key', 'x-goog-api-key', 'access_token']);
