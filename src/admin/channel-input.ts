import { familyNames } from '../adapters/family-names.ts';
import { OperatorError } from '../services/operator-error.ts';
import { shortText, text } from './input.ts';

/** Every provider family. */
export const families: readonly string[] = familyNames;

export const credentialHelp = 'API key of the provider; - reads it from stdin and so keeps it out of the shell history';

/** What operators call a channel. */
export const channelName = shortText
  .refine((name) => /^[\w.:-]{1,63}$/.test(name), 'must be letters, digits and . _ : - only, at most 63')
  .refine((name) => !name.startsWith('chn_'), 'must not start with chn_');

export const family = shortText.refine((name) => families.includes(name), `must be one of ${families.join(', ')}`);

/** Without a slash at its end. */
export const baseUrl = shortText
  .refine(isPlainUrl, 'must be an http or https URL without user, query and fragment')
  .transform((url) => url.replace(/\/+$/, ''));

export const credential = text().trim().min(1, 'must not be empty').max(16_000, 'must have at most 16000 characters');

function isPlainUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return (protocol === 'https:' || protocol === 'http:') && `${username}${password}${search}${hash}` === '';
}

/** The credential is sent in a header unchanged, so it must be printable ASCII. */
export function sendable(secret: string): string {
  if (/^[\x20-\x7e]+$/.test(secret)) return secret;
  throw new OperatorError('A credential must be one line of printable ASCII characters.');
}
