import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { createAdminToken } from '../../services/operators/create-admin-token.ts';
import { revokeAdminToken } from '../../services/operators/revoke-admin-token.ts';
import { adminTokenColumns, listAdminTokens, type AdminTokenRow } from '../../db/operators/admin-tokens.ts';
import { roles } from '../../domain/operators/role.ts';
import { AdminToken, CreatedAdminToken, RevokedAdminToken } from '../schemas/admin-tokens.ts';
import { group, option, action } from '../define-action.ts';
import { moment, shortText } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { time } from '../plain-text.ts';
import { factsReport, jsonRow, listReport } from '../report.ts';

/** `tollgate admin-tokens …`: who may use the admin API. */
export const adminTokenActions = group('tokens for the admin API and the console', () => ({ create, list, revoke }));

const create = action({
  summary: 'create a token for the admin API and show it, this once',
  input: {
    role: option('<role>', z.enum(roles)).describe(
      'viewer reads; operator also changes and reads prompts; owner also handles credentials, keys and tokens',
    ),
    name: option('<name>', shortText.default('')).describe('who uses it, for the audit log'),
    expires: option('<time>', moment.nullable().default(null)).describe(
      'expire at 2030-01-31, 2030-01-31T12:00:00Z, or after 12h, 30d (default: never)',
    ),
  },
  example: { role: 'operator', name: 'ada', expires: '90d' },
  route: { method: 'POST', path: '/admin-tokens', role: 'owner' },
  answer: CreatedAdminToken,
  needs: 'secrets',
  async run(deps, { role, name, expires: expiresAt }, actor) {
    const { tokenId, token } = await createAdminToken(deps, { role, name, expiresAt, actor });
    return factsReport(`Created a token with the role ${role}. Store it now: it is not shown again.`, {
      token_id: tokenId,
      token,
    });
  },
});

const list = action({
  summary: 'list the tokens for the admin API, without the tokens themselves',
  input: listInput('admin-tokens', adminTokenColumns),
  route: { method: 'GET', path: '/admin-tokens', role: 'owner' },
  answer: listOf(AdminToken),
  needs: 'database',
  async run({ db }, page) {
    const toLine = ({ tokenId: token_id, name, role, state, prefix, last4, ...row }: AdminTokenRow) => ({
      token_id,
      name,
      role,
      state,
      token: `${prefix}…${last4}`,
      created_by: row.createdBy,
      created_at: time(row.createdAt),
      expires_at: time(row.expiresAt),
      last_used_at: time(row.lastUsedAt),
    });
    return listReport(await listAdminTokens(db, listRequest(page)), toLine, {
      list: 'admin-tokens',
      nothing: 'There are no admin tokens.',
      toDocument: jsonRow,
    });
  },
});

const revoke = action({
  summary: 'revoke a token immediately and permanently, and end its sessions',
  input: { id: shortText.describe('token id, such as atk_…') },
  route: { method: 'POST', path: '/admin-tokens/:id/revoke', role: 'owner' },
  answer: RevokedAdminToken,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { id: requestedId }, actor) {
    const revoked = await revokeAdminToken(deps, { tokenId: requestedId, actor });
    const { tokenId, revokedAt, changed } = revoked;
    return {
      document: jsonRow(revoked),
      text: changed
        ? `Revoked ${tokenId}.`
        : `${tokenId} was already revoked at ${time(revokedAt) ?? ''}. Nothing changed.`,
    };
  },
});
