import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { adminTokenStates } from '../../db/operators/admin-tokens.ts';
import { roles } from '../../domain/operators/role.ts';
import { changed } from './changed.ts';
import { tokenId } from './ids.ts';

/** A token without the token itself. */
export const AdminToken = z
  .object({
    token_id: tokenId,
    name: z.string(),
    role: z.enum(roles),
    state: z.enum(adminTokenStates),
    prefix: z.string().describe('The first characters of the token.'),
    last4: z.string(),
    created_by: z.string(),
    created_at: timestamp,
    expires_at: timestampOrNull,
    revoked_at: timestampOrNull,
    last_used_at: timestampOrNull,
  })
  .meta({ id: 'AdminToken' });

export const CreatedAdminToken = z
  .object({
    token_id: tokenId,
    token: z.string().meta({ description: 'The token, which is shown only here.', examples: ['adm_…'] }),
  })
  .meta({ id: 'CreatedAdminToken' });

export const RevokedAdminToken = z
  .object({ token_id: tokenId, revoked_at: timestamp, changed })
  .meta({ id: 'RevokedAdminToken' });
