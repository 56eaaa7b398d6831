import type { Logger } from 'pino';
import { UnknownOperator } from '../../services/operators/oidc-sign-in.ts';
import type { AppMiddleware } from '../context.ts';
import { escaped, htmlPage, pagePolicy } from '../docs/page.ts';
import { statusOf } from '../response/error-status.ts';
import { logCause, toRefusal } from '../middleware/answer-errors.ts';
import { preferredType } from '../request/preferred-type.ts';

/** Answers a refusal with a page where a browser asks for one, because a person has followed a link and is to read it. */
export const showRefusalAsPage =
  ({ logger }: { logger: Logger }): AppMiddleware =>
  async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (preferredType(ctx, ['application/json', 'text/html']) !== 'text/html') throw error;
      const refusal = toRefusal(error);
      logCause(logger, ctx, refusal);
      ctx.status = statusOf[refusal.code];
      if (refusal.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(refusal.retryAfterSeconds));
      ctx.set('Content-Security-Policy', pagePolicy);
      ctx.set('Referrer-Policy', 'no-referrer');
      ctx.set('Content-Type', 'text/html; charset=utf-8');
      const reason = refusal instanceof UnknownOperator ? unknown(refusal) : failed(refusal.message);
      ctx.body = htmlPage('Sign in to Tollgate', `${reason}\n<p><a href="/console">Back to the sign-in page</a></p>`);
    }
  };

const failed = (message: string): string => `<h1>You are not signed in</h1>\n<p>${escaped(message)}</p>`;

const unknown = ({ identity: { issuer, subject }, command }: UnknownOperator): string => `<h1>You have no role here</h1>
<p>Your identity provider knows you, but no owner of this gateway has entered you. Send an owner this:</p>
<dl>
<dt>Issuer</dt><dd><code>${escaped(issuer)}</code></dd>
<dt>Subject</dt><dd><code>${escaped(subject)}</code></dd>
</dl>
<p>The owner runs this command, with the role and the name that you are to have. Then sign in again.</p>
<pre tabindex="0">npx ${escaped(command)}</pre>`;
