import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { addOperator } from '../../services/operators/add-operator.ts';
import { removeOperator } from '../../services/operators/remove-operator.ts';
import { isIssuer } from '../../config/setting.ts';
import { listOperators, operatorColumns, type OperatorRow } from '../../db/operators/operators.ts';
import { personOf } from '../../domain/operators/admin-access.ts';
import { roles } from '../../domain/operators/role.ts';
import { AddedOperator, Operator, RemovedOperator } from '../schemas/operators.ts';
import { group, option, action } from '../define-action.ts';
import { shortText, text } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { time } from '../plain-text.ts';
import { factsReport, jsonRow, listReport } from '../report.ts';

/** `tollgate operators …`: who may sign in to the console by OIDC. */
export const operatorActions = group('people who sign in to the console by OIDC', () => ({ add, list, remove }));

const add = action({
  summary: 'let a person sign in to the console by OIDC, with a role',
  input: {
    issuer: option(
      '<url>',
      shortText.refine(isIssuer, 'must be the URL of an identity provider, as its ID tokens name it'),
    ).describe('the identity provider, exactly as its ID tokens name it'),
    // OpenID Connect Core 1.0 §2: at most 255 ASCII characters.
    subject: option(
      '<subject>',
      text().regex(/^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/, 'must be 1 to 255 ASCII characters'),
    ).describe('the person there; a sign-in that is refused for a lack of a role shows it'),
    role: option('<role>', z.enum(roles)).describe('what the person may do, as the role of an admin token'),
    name: option('<name>', shortText).describe('the name of the person, for the audit log'),
  },
  example: { issuer: 'https://accounts.google.com', subject: '110169484474386276334', role: 'operator', name: 'Ada' },
  route: { method: 'POST', path: '/operators', role: 'owner' },
  answer: AddedOperator,
  refusals: ['action_refused'],
  needs: 'database',
  async run(deps, person, actor) {
    const { operatorId } = await addOperator(deps, { ...person, actor });
    const { issuer } = deps.config.oidc;
    const warnings =
      issuer === '' || issuer === person.issuer ? [] : [`OIDC_ISSUER is ${issuer}: only its people can sign in.`];
    return factsReport(
      `${person.name} may sign in with the role ${person.role}.`,
      { operator_id: operatorId },
      { warnings },
    );
  },
});

const list = action({
  summary: 'list the people who may sign in to the console by OIDC',
  input: listInput('operators', operatorColumns),
  route: { method: 'GET', path: '/operators', role: 'owner' },
  answer: listOf(Operator),
  needs: 'database',
  async run({ db }, page) {
    const toLine = ({ operatorId: operator_id, name, role, issuer, subject, ...row }: OperatorRow) => ({
      operator_id,
      name,
      role,
      issuer,
      subject,
      created_by: row.createdBy,
      created_at: time(row.createdAt),
      last_used_at: time(row.lastUsedAt),
    });
    return listReport(await listOperators(db, listRequest(page)), toLine, {
      list: 'operators',
      nothing: 'No person may sign in by OIDC yet.',
      toDocument: jsonRow,
    });
  },
});

const remove = action({
  summary: 'remove a person immediately, and end its sessions',
  input: { id: shortText.describe('operator id, such as opr_…') },
  route: { method: 'POST', path: '/operators/:id/remove', role: 'owner' },
  answer: RemovedOperator,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { id: operatorId }, actor) {
    const removed = await removeOperator(deps, { operatorId, actor });
    return { document: jsonRow(removed), text: `Removed ${operatorId}: ${personOf(removed)} can no longer sign in.` };
  },
});
