import { z } from 'zod';
import { issuePlaygroundKey } from '../../services/admin/playground-key.ts';
import type { Deps } from '../../deps.ts';
import { adminOf } from '../context.ts';
import type { Route } from '../route.ts';
import { validate } from '../request/validate.ts';
import { adminPrefix } from './admin-prefix.ts';
import { refusalOf } from './refusal-of.ts';

export const PlaygroundRequest = z.strictObject({
  project_id: z.string().min(1).max(100),
  budget_daily: z.int().min(1).max(1_000_000).default(1_000),
});

/** `POST /playground/key`: a short-lived key by which the console calls the client API. */
export const playgroundRoute = (deps: Pick<Deps, 'db' | 'config'>): Route => ({
  auth: 'admin',
  role: 'operator',
  method: 'POST',
  path: `${adminPrefix}/playground/key`,
  dialect: 'openai',
  body: 'json',
  async handler(ctx) {
    const { project_id: projectId, budget_daily: budgetDaily } = validate(PlaygroundRequest, ctx.request.body);
    const input = { access: adminOf(ctx), projectId, budgetDaily };
    const key = await issuePlaygroundKey(deps, input).catch((error: unknown) => {
      throw refusalOf(error);
    });
    ctx.set('Cache-Control', 'no-store');
    ctx.body = {
      key_id: key.keyId,
      api_key: key.apiKey,
      expires_at: key.expiresAt,
      budget_daily: key.budgetDaily,
    };
  },
});
