import type { SourceDatabase, SourceRow } from '../../db/imports/source-database.ts';
import { emptyInstallation, type ImportedInstallation, type ImportedOwner } from '../../domain/imports/imported.ts';
import { creditsOfUsd } from '../../domain/imports/source-money.ts';
import { demandTables } from './demand-tables.ts';
import { readLitellmKeys } from './read-litellm-keys.ts';
import { teamOwner, userOwner, type LitellmImport } from './litellm-import.ts';
import { amountOf, clipped, columnText, countOne, metadataOf, textsOf, truthOf } from './source-values.ts';

const needed = {
  LiteLLM_VerificationToken: ['token', 'spend', 'expires', 'models', 'user_id', 'team_id', 'max_budget'],
  LiteLLM_TeamTable: ['team_id', 'team_alias', 'max_budget', 'spend', 'models'],
  LiteLLM_UserTable: ['user_id', 'max_budget', 'spend'],
} as const;

/** What an owner without a budget may spend here, in US dollars, as an overdraft. LiteLLM lets such an owner spend without end. */
const overdraftUsd = 1_000_000;

const limits = ['max_budget', 'spend', 'budget_duration', 'rpm_limit', 'tpm_limit', 'max_parallel_requests', 'models'];

/** Reads the PostgreSQL database of the LiteLLM proxy. Throws `SourceError`. */
export async function readLitellm(source: SourceDatabase, creditValue: number): Promise<ImportedInstallation> {
  const tables = await demandTables(source, 'litellm', needed);
  const installation = emptyInstallation();
  const byId = async (table: string, column: string, columns: readonly string[]) => {
    const rows = new Map<string, SourceRow>();
    for (const row of tables.has(table) ? await source.rows(table, [column, ...columns]) : []) {
      const id = columnText(row, column);
      if (!rows.has(id)) rows.set(id, row);
      else installation.notices.push({ kind: 'refused', subject: `${table} ${id}`, sentence: 'is there twice.' });
    }
    return rows;
  };
  const context: LitellmImport = {
    source,
    installation,
    creditValue,
    teams: await byId('LiteLLM_TeamTable', 'team_id', ['team_alias', 'blocked', 'organization_id', ...limits]),
    users: await byId('LiteLLM_UserTable', 'user_id', ['user_alias', 'user_email', 'user_role', ...limits]),
    budgets: await byId('LiteLLM_BudgetTable', 'budget_id', limits),
  };
  for (const [id, row] of context.teams) addOwner(context, teamOwner(id), columnText(row, 'team_alias') || id, row);
  await readLitellmKeys(context, (ownerId, row) => {
    if (installation.owners.some(({ id }) => id === ownerId)) return;
    addOwner(context, ownerId, row ? userName(row) : 'LiteLLM: keys without a team or user', row);
  });
  for (const [id, row] of context.users) {
    if (installation.owners.some((owner) => owner.id === userOwner(id))) continue;
    if (amountOf(row, 'max_budget') === null) countOne(installation.leftOut, 'users without keys and without a budget');
    else addOwner(context, userOwner(id), userName(row), row);
  }
  await nameModels(context, tables.has('LiteLLM_ProxyModelTable'));
  for (const [table, words] of Object.entries(uncarriedTables)) {
    const rows = tables.has(table) ? await source.count(table) : 0;
    if (rows > 0) installation.leftOut.set(words, rows);
  }
  return installation;
}

/** Deployments of the database, whose addresses and keys are encrypted: each model is named with their number. */
async function nameModels({ source, installation }: LitellmImport, isThere: boolean): Promise<void> {
  const counts = new Map<string, number>();
  for (const row of isThere ? await source.rows('LiteLLM_ProxyModelTable', ['model_name']) : [])
    countOne(counts, columnText(row, 'model_name'));
  for (const [name, count] of counts) {
    const sentence = `has ${count} deployments in the database, which are encrypted: put them into a config.yaml and import it, or add their channels.`;
    installation.notices.push({ kind: 'left_out', subject: `model ${name}`, sentence });
  }
}

const userName = (row: SourceRow): string =>
  columnText(row, 'user_alias') || columnText(row, 'user_email') || columnText(row, 'user_id');

/** A team or a user. Its credits are its budget less what it has spent; without a budget it has an overdraft. */
function addOwner(
  { installation, creditValue }: LitellmImport,
  id: string,
  name: string,
  row: SourceRow | undefined,
): void {
  const budget = row ? amountOf(row, 'max_budget') : null;
  const spend = (row && amountOf(row, 'spend')) ?? 0;
  const subject = `${id.split(':')[0] ?? ''} ${name}`;
  const credits = budget === null ? 0 : creditsOfUsd(budget - spend, creditValue);
  if (credits === null) {
    const sentence = `has a budget or a spend beyond the exact range: ${String(budget)} and ${spend} USD.`;
    return void installation.notices.push({ kind: 'refused', subject, sentence });
  }
  if (credits < 0) {
    const sentence = `has spent ${spend} of ${String(budget)} USD: the project owes ${-credits} credits.`;
    installation.notices.push({ kind: 'check', subject, sentence });
  }
  const overdraft = budget === null ? (creditsOfUsd(overdraftUsd, creditValue) ?? 0) : 0;
  if (overdraft > 0) {
    const sentence = `has no budget: its project has an overdraft of ${overdraft} credits. Change it with projects set --overdraft.`;
    installation.notices.push({ kind: 'check', subject, sentence });
  }
  const period = row ? columnText(row, 'budget_duration') : '';
  if (budget !== null && period !== '') {
    const sentence = `gets ${budget} USD again every ${period}: what is left of this period is imported. Add the next ones with credits add.`;
    installation.notices.push({ kind: 'check', subject, sentence });
  }
  const owner: ImportedOwner = {
    id,
    name: clipped(name, 200),
    enabled: !(row && truthOf(row, 'blocked')),
    credits,
    overdraft,
    metadata: metadataOf({
      email: row && columnText(row, 'user_email'),
      role: row && columnText(row, 'user_role'),
      organization: row && columnText(row, 'organization_id'),
      models: row && textsOf(row['models']).join(','),
    }),
  };
  installation.owners.push(owner);
}

/** Tables whose rows have no counterpart here. */
const uncarriedTables: Readonly<Record<string, string>> = {
  LiteLLM_SpendLogs: 'spend logs',
  LiteLLM_OrganizationTable: 'organizations',
  LiteLLM_EndUserTable: 'end users',
  LiteLLM_TeamMembership: 'budgets of members of teams',
  LiteLLM_TagTable: 'tags',
  LiteLLM_ProxyModelTable: 'models of the database, which are encrypted',
  LiteLLM_CredentialsTable: 'credentials of the database, which are encrypted',
  LiteLLM_DeprecatedVerificationToken: 'earlier secrets of rotated keys',
  LiteLLM_MCPServerTable: 'MCP servers',
  LiteLLM_GuardrailsTable: 'guardrails',
  LiteLLM_PromptTable: 'prompts',
  LiteLLM_ManagedFileTable: 'managed files',
  LiteLLM_ManagedVectorStoresTable: 'vector stores',
  LiteLLM_AuditLog: 'audit entries',
};
