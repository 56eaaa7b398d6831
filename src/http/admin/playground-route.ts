import { z } from 'zod';
import { creditsWorth } from '../../services/ledger/credit-value.ts';
import { issuePlaygroundKey } from '../../services/operators/issue-playground-key.ts';
import type { Deps } from '../../deps.ts';
import { adminOf } from '../context.ts';
import { timestamp } from '../../schemas/time.ts';
import { json } from '../description.ts';
import { endpoint, type Route } from '../route.ts';
import { validate } from '../request/validate.ts';
import { adminPrefix } from './admin-prefix.ts';
import { actionRefusalOf } from './refusal-of.ts';

/** Without a limit of the operator's choice, a day of trying things out costs at most this much. */
const usualDailyMicroUsd = 10_000_000;

const PlaygroundRequest = z.strictObject({
  project_id: z.string().min(1).max(100),
  budget_daily: z
    .int()
    .min(1)
    .max(1_000_000_000_000)
    .optional()
    .describe('The most credits of a day (UTC); without it, credits for 10 US dollars.'),
});

const PlaygroundKeySchema = z
  .object({
    key_id: z.string(),
    api_key: z.string().describe('The secret, which is shown only here.'),
    expires_at: timestamp,
    budget_daily: z.int().describe('Credits that the key may spend each day, UTC.'),
  })
  .meta({ id: 'PlaygroundKey' });

/** `POST /playground/key`: a short-lived key by which the console calls the client API. */
export const playgroundRoute = (deps: Pick<Deps, 'db' | 'config'>): Route =>
  endpoint({
    auth: 'admin',
    role: 'operator',
    method: 'POST',
    path: `${adminPrefix}/playground/key`,
    dialect: 'openai',
    body: 'json',
    tag: 'console',
    summary: 'get a short-lived API key for the playground',
    description: 'An operator has one such key for each project. A second request gives it a new secret.',
    accepts: { 'application/json': PlaygroundRequest },
    answers: { 200: { description: 'The key.', content: json(PlaygroundKeySchema) } },
    errors: ['not_found', 'action_refused'],
    async handler(ctx) {
      const { project_id: projectId, budget_daily: wanted } = validate(PlaygroundRequest, ctx.request.body);
      const budgetDaily = wanted ?? (await creditsWorth(deps, usualDailyMicroUsd));
      const input = { access: adminOf(ctx), projectId, budgetDaily };
      const key = await issuePlaygroundKey(deps, input).catch((error: unknown) => {
        throw actionRefusalOf(error);
      });
      ctx.set('Cache-Control', 'no-store');
      return {
        key_id: key.keyId,
        api_key: key.apiKey,
        expires_at: key.expiresAt,
        budget_daily: key.budgetDaily,
      };
    },
  });
