import type { Deps } from '../../../deps.ts';
import { originOf } from '../../../platform/egress/check-url.ts';
import type { DownloadOptions, Egress } from '../../../platform/egress/egress.ts';

export interface ResultSource {
  url: string;
  /** The configured origin of the channel, which the operator trusts. */
  channelBaseUrl: string;
  /** Sent to that origin only. */
  channelHeaders: Record<string, string>;
}

/** Providers redirect a download to their store, and the store to the nearest copy. */
const redirectsMax = 5;

/**
 * Downloads a result of a provider, over at most five redirects. The egress guard checks each address like the first one. The channel's own
 * origin is trusted, and gets the credential, only until a redirect has left it: another host must not choose what we read there.
 */
export async function downloadResult<T>(
  { egress }: Pick<Deps, 'egress'>,
  { url, channelBaseUrl, channelHeaders }: ResultSource,
  { timeoutMs, maxBytes, signal }: Pick<DownloadOptions, 'timeoutMs' | 'maxBytes' | 'signal'>,
  sink: Parameters<typeof egress.download<T>>[2],
): ReturnType<typeof egress.download<T>> {
  const endsAt = performance.now() + timeoutMs;
  let at = url;
  let isOwn = true;
  for (let hop = 0; ; hop += 1) {
    isOwn &&= originOf(at) === originOf(channelBaseUrl);
    const options: DownloadOptions = {
      timeoutMs: Math.max(1, Math.ceil(endsAt - performance.now())),
      maxBytes,
      ...(signal && { signal }),
      trustedOrigins: isOwn ? [channelBaseUrl] : [],
      trustedHeaders: isOwn ? channelHeaders : {},
    };
    const download = await egress.download(at, options, sink);
    const next = targetOf(download, at);
    if (next === null || hop === redirectsMax) return download;
    at = next;
  }
}

/** The target of a redirect (RFC 9110 §15.4); null for every other answer. */
function targetOf(answer: Awaited<ReturnType<Egress['download']>>, url: string): string | null {
  if (answer.kind !== 'answer' || ![301, 302, 303, 307, 308].includes(answer.status)) return null;
  const { location } = answer.headers;
  return location === undefined ? null : (URL.parse(location, url)?.href ?? null);
}
