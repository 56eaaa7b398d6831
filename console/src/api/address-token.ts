/**
 * The token after `#token=` in the address, which the banner of `npm start` prints. Browsers do not send this part of a URL. It is
 * removed from the address and from the history as soon as this module loads.
 */
let token = new URLSearchParams(location.hash.slice(1)).get('token');
if (token !== null) history.replaceState(history.state, '', location.pathname + location.search);

/** The token, the first time; null afterwards. */
export function takeAddressToken(): string | null {
  const taken = token;
  token = null;
  return taken;
}
