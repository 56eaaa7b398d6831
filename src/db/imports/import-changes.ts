import type { Database, Statements } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';
import { importReference } from './import-items.ts';

/**
 * Brings the credits of a project, or the budget of a key, to where the original is: what it got or spent there since the last import is added or
 * taken here, once. Returns the difference.
 */
export const moveImportedCredits = (
  database: Database,
  {
    source,
    kind,
    externalId,
    credits,
    actor,
  }: { source: string; kind: 'project' | 'key'; externalId: string; credits: number | null; actor: string },
): Promise<number | null> =>
  database.transaction('begin', async (_query, inside) => {
    const item = await inside.first<{ internalId: string; credits: number | null; revision: number }>(
      'lock-import-item',
      `select internal_id, credits, revision from import_item where source = $1 and kind = $2 and external_id = $3 for update`,
      [source, kind, externalId],
    );
    if (!item || item.credits === credits) return 0;
    const difference = credits === null || item.credits === null ? null : credits - item.credits;
    const reference = importReference(source, externalId, item.revision + 1);
    if (kind === 'key') await moveBudget(inside, { keyId: item.internalId, credits, difference, actor });
    else await moveBalance(inside, { projectId: item.internalId, difference: difference ?? 0, reference, actor });
    await inside.query(
      'note-imported-credits',
      `update import_item set credits = $4, revision = revision + 1, imported_at = clock_timestamp()
       where source = $1 and kind = $2 and external_id = $3`,
      [source, kind, externalId, credits],
    );
    return difference;
  });

async function moveBalance(
  inside: Statements,
  {
    projectId,
    difference,
    reference,
    actor,
  }: { projectId: string; difference: number; reference: string; actor: string },
): Promise<void> {
  const isMore = difference > 0;
  const values = [projectId, Math.abs(difference), reference, isMore ? null : 'spent at the former gateway'];
  const [moved] = await inside.call<{ verdict: string; balance: number }>(
    isMore ? 'add_credits_until' : 'deduct_credits',
    values,
  );
  if (moved?.verdict !== 'added' && moved?.verdict !== 'deducted')
    throw new Error(`the credits of an import are ${String(moved?.verdict)}`);
  await recordAudit(inside, {
    actor,
    action: isMore ? 'credits.add' : 'credits.deduct',
    subject: projectId,
    before: { balance: moved.balance - difference },
    after: { balance: moved.balance },
    detail: { amount: Math.abs(difference), reference },
  });
}

/** What the key has spent here stays counted, and a budget that was removed here stays away. */
async function moveBudget(
  inside: Statements,
  {
    keyId,
    credits,
    difference,
    actor,
  }: { keyId: string; credits: number | null; difference: number | null; actor: string },
): Promise<void> {
  const [key] = await inside.query<{ before: number | null; after: number | null }>(
    'move-budget',
    `update api_key k set budget = case when $2::bigint is null then null when $3::bigint is null then k.spent + $2
       when k.budget is not null then greatest(0, k.budget + $3) end
     from (select id, budget from api_key where id = $1 for update) former
     where k.id = former.id returning former.budget as before, k.budget as after`,
    [keyId, credits, difference],
  );
  if (key)
    await recordAudit(inside, {
      actor,
      action: 'keys.set',
      subject: keyId,
      before: { budget: key.before },
      after: { budget: key.after },
    });
}

/** Names a project and its metadata as they are at its original. */
export const renameProject = (
  database: Database,
  { projectId, name, metadata, actor }: { projectId: string; name: string; metadata: object; actor: string },
): Promise<void> =>
  database.transaction('begin', async (_query, inside) => {
    const [renamed] = await inside.query<{ before: string }>(
      'rename-project',
      `update project p set name = $2, metadata = $3::jsonb from (select id, name from project where id = $1 for update) former
       where p.id = former.id returning former.name as before`,
      [projectId, name, JSON.stringify(metadata)],
    );
    if (!renamed) return;
    await recordAudit(inside, {
      actor,
      action: 'projects.set',
      subject: projectId,
      before: { name: renamed.before },
      after: { name, metadata },
    });
  });
