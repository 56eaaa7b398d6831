/**
 * The path and query that a request for this URL sends. The URL parser takes a segment of encoded dots for a step in the path
 * (https://url.spec.whatwg.org/#double-dot-path-segment). In an address of a provider it is an id, so there the text counts.
 */
export function requestPath(url: URL, text: string): string {
  const isPlain = /^[!-~]*$/.test(text) && !text.includes('#');
  const hasDots = /\/(?:%2E)+(?=[/?]|$)/i.test(text);
  return isPlain && hasDots ? text.replace(/^[^/]*\/\/[^/]*/, '') : `${url.pathname}${url.search}`;
}
