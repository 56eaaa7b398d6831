import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { EgressRefusal } from '../../platform/egress/check-url.ts';

/** Checks the text of an input's URL from a client, without DNS. Throws `invalid_url` that names the field. */
export function checkInputUrl(
  { egress }: Pick<Deps, 'egress'>,
  url: string,
  param: string,
  { isInClientWords = false } = {},
): void {
  try {
    egress.checkUrl(url, { purpose: 'input' });
  } catch (error) {
    if (!(error instanceof EgressRefusal)) throw error;
    throw new GatewayError('invalid_url', {
      message: `${param} ${error.message}.`,
      param,
      isInClientWords,
      cause: error,
    });
  }
}
