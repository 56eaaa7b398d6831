import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { roles } from '../../domain/operators/role.ts';
import { warnings } from './changed.ts';
import { operatorId } from './ids.ts';

const issuer = z.string().describe('The identity provider, as its ID tokens name it.');
const subject = z.string().describe('The person at the identity provider.');

/** A person who may sign in by OIDC. */
export const Operator = z
  .object({
    operator_id: operatorId,
    issuer,
    subject,
    name: z.string(),
    role: z.enum(roles),
    created_by: z.string(),
    created_at: timestamp,
    last_used_at: timestampOrNull,
  })
  .meta({ id: 'Operator' });

export const AddedOperator = z.object({ operator_id: operatorId, warnings }).meta({ id: 'AddedOperator' });

export const RemovedOperator = z.object({ operator_id: operatorId, issuer, subject }).meta({ id: 'RemovedOperator' });
