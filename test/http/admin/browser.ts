/** The origin that browsers know of the console. Its proxy with TLS is `openBrowser`. */
export const adminOrigin = 'https://admin.example.com';

/** As much of a browser as a sign-in needs: cookies, redirects, and the headers that tell where a request comes from. */
export function openBrowser({ frame }: { frame: { url: string } }) {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (url: string): Map<string, string> => {
    const { origin } = new URL(url);
    const jar = jars.get(origin) ?? new Map<string, string>();
    jars.set(origin, jar);
    return jar;
  };

  /** Opens one address, without following its redirect. */
  async function open(url: string, headers: Record<string, string> = {}): Promise<Response> {
    const jar = jarOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url.replace(adminOrigin, frame.url), {
      redirect: 'manual',
      headers: { accept: 'text/html,*/*;q=0.8', 'sec-fetch-mode': 'navigate', cookie, ...headers },
      signal: AbortSignal.timeout(60_000),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=');
      if (value === '' || /; max-age=0/i.test(set)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  return {
    open,
    /** The cookies of the console. */
    cookies: jarOf(adminOrigin),
    /** Presses "Sign in with …" and follows every redirect until one leads to `until`. Returns that address. */
    async signInUntil(until: string): Promise<string> {
      let url = `${adminOrigin}/api/admin/v1/session/oidc`;
      let site = 'same-origin';
      for (let steps = 0; steps < 10 && !url.startsWith(until); steps += 1) {
        const answer = await open(url, { 'sec-fetch-site': site });
        const location = answer.headers.get('location');
        if (location === null) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
        url = new URL(location, url).href;
        site = 'cross-site';
      }
      return url;
    },
  };
}

export type TestBrowser = ReturnType<typeof openBrowser>;
export const callbackUrl = `${adminOrigin}/api/admin/v1/session/oidc/callback`;
