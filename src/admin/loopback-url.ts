import { z } from 'zod';
import { bareHost } from '../platform/egress/check-url.ts';
import { addressMatcher, loopbackCidrs } from '../platform/egress/public-address.ts';
import { text } from './input.ts';

const isLoopback = addressMatcher(loopbackCidrs);

/**
 * An http URL of this machine, as the URLs to try in turn. `localhost` stands for both loopback addresses, and no other name is looked up, so
 * that nothing leaves the machine.
 */
export const loopbackUrl = text().transform((input, context): string[] => {
  const url = URL.parse(input);
  if (url?.protocol === 'http:' && url.username === '' && url.password === '') {
    const host = bareHost(url);
    if (isLoopback(host)) return [url.href];
    if (host === 'localhost') return ['127.0.0.1', '[::1]'].map((address) => withHost(url, address));
  }
  context.addIssue({
    code: 'custom',
    message: 'must be an http URL of this machine, such as http://127.0.0.1:3000/hooks',
  });
  return z.NEVER;
});

function withHost({ href }: URL, hostname: string): string {
  const url = new URL(href);
  url.hostname = hostname;
  return url.href;
}
