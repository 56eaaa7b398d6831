import { errorTable, type ErrorCode } from '../../domain/errors.ts';
import { statusOf } from '../response/error-status.ts';
import { errorHelp } from './error-help.ts';
import { escaped, inline, htmlPage } from './page.ts';

const codes = Object.keys(errorTable) as ErrorCode[];

/** Whether the table knows the code. */
export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code);

/** Whether a client may send the same request again, by the table. A single answer may say otherwise. */
export const mayRetry = (code: ErrorCode): boolean => !('retry' in errorTable[code]);

/** The list of all codes. */
export const errorsPage = (): string =>
  htmlPage(
    'Error codes',
    `<h1>Error codes</h1>
<p>The body of an error is <code>{"error": {"message", "type", "param", "code"}}</code>. Program against <code>code</code>;
<code>message</code> is for people and may change. <code>/v1/messages</code> has the code in <code>error.details.error_code</code>, and the
Gemini routes have it in capitals in <code>error.details[0].reason</code>.</p>
<table>
<thead><tr><th>Code</th><th>Status</th><th>When</th></tr></thead>
<tbody>
${codes.map(row).join('\n')}
</tbody>
</table>`,
  );

const row = (code: ErrorCode): string =>
  `<tr><td><a href="/docs/errors/${code}"><code>${breakable(code)}</code></a></td><td>${statusOf[code]}</td><td>${inline(errorHelp[code].when)}</td></tr>`;

/** A narrow column breaks a code between its words only. */
const breakable = (code: ErrorCode): string => code.replaceAll('_', '_<wbr>');

/** The page of one code. */
export function errorPage(code: ErrorCode): string {
  const { type, message } = errorTable[code];
  const example = { error: { message, type, param: null, code } };
  return htmlPage(
    code,
    `<h1><code>${code}</code></h1>
<dl>
<dt>When</dt><dd>${inline(errorHelp[code].when)}.</dd>
<dt>What to do</dt><dd>${inline(errorHelp[code].remedy)}</dd>
<dt>Status</dt><dd>${statusOf[code]}</dd>
<dt>Retry</dt><dd>${retryText(code)}</dd>
</dl>
<pre>${escaped(JSON.stringify(example, null, 2))}</pre>`,
  );
}

const retryText = (code: ErrorCode): string =>
  mayRetry(code)
    ? 'The same request may succeed later. Wait for <code>Retry-After</code>, if there is one, unless the answer says <code>x-should-retry: false</code>.'
    : 'No: the same request would fail again, or could cost twice (<code>x-should-retry: false</code>).';
