import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ImportedInstallation } from '../../domain/imports/imported.ts';
import { draftModels, type DraftedModel } from './drafted-models.ts';
import { ownGroup } from './import-channels.ts';

/**
 * Writes drafts for review into a folder: `catalog.yaml` with the models of the channels and their prices, and a file of rules for each group.
 * Nothing of it is applied. Returns the names of the files.
 */
export async function writeImportDrafts(
  folder: string,
  source: string,
  installation: ImportedInstallation,
): Promise<string[]> {
  const files = new Map<string, string>();
  const models = draftedEntries(source, installation);
  if (models.length > 0) files.set('catalog.yaml', `${catalogHead}${stringify({ models }, { lineWidth: 0 })}`);
  for (const [group, multiplier] of installation.groupRatios)
    files.set(
      join('plans', `${fileName(group)}.yaml`),
      stringify([{ models: '*', multiplier: Math.max(0.000001, multiplier) }]),
    );
  if (installation.groupRatios.size > 0) files.set('plans.csv', plansTable(installation));
  await mkdir(join(folder, 'plans'), { recursive: true });
  for (const [name, text] of files) await writeFile(join(folder, name), text, { mode: 0o600 });
  return [...files.keys()];
}

const catalogHead = `# Models and prices of an import, for review. \`tollgate catalog check\` compares prices with costs.
# A cost is the price itself, because the former gateway does not know it: \`tollgate catalog compare --write\` and docs/PROVIDERS.md have costs.
# context_tokens is the same for all of them: a longer one accepts longer requests.
# A price in a description with the word CHECK was not in the database: the former gateway has it in its code.
`;

function draftedEntries(source: string, installation: ImportedInstallation): object[] {
  const ids = new Set<string>();
  const isId = ([alias]: [string, unknown]): boolean => modelId(alias) === alias;
  // Those whose name is an id have it.
  const models = [...draftModels(installation.channels).models].toSorted((a, b) => Number(isId(b)) - Number(isId(a)));
  return models.map(([alias, model]) => {
    const plain = modelId(alias) || 'model';
    let id = plain;
    for (let number = 2; ids.has(id); number += 1) id = `${plain}-${number}`;
    ids.add(id);
    return draftedEntry(source, { alias, id, model }, installation);
  });
}

/** Most models have at least as long a context. The former gateway does not know it. */
const contextTokens = 128_000;

/** Ids have no slash and no colon; the name that clients use stays as an alias. */
const modelId = (alias: string): string =>
  alias
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 120);

function draftedEntry(
  source: string,
  { alias, id, model: { channels, upstream } }: { alias: string; id: string; model: DraftedModel },
  { prices }: ImportedInstallation,
): object {
  const price = prices.get(alias);
  const input = price?.input ?? 1;
  const output = price?.output ?? input;
  const missing = price?.input == null ? 'every price' : price.output === null ? 'the price of output' : null;
  // A credit of a thousand tokens is a micro-USD of a million at the usual value of a credit.
  const cost = { per_million: { input: input * 1_000, output: output * 1_000 } };
  return {
    id,
    type: 'chat',
    owned_by: /^[\w.-]+/.exec(alias)?.[0]?.split('-')[0] ?? 'imported',
    display_name: alias.slice(0, 200),
    group: 'Imported',
    capability: 'chat',
    description: missing === null ? null : `CHECK ${missing}`,
    status: 'active',
    pricing: {
      credits_per_1k_input_tokens: input,
      credits_per_1k_output_tokens: output,
      ...(price?.cachedInput != null && { credits_per_1k_cached_input_tokens: price.cachedInput }),
    },
    parameters: { image: true },
    private: {
      groups: [...new Set(channels.map((channel) => ownGroup(source, channel)))],
      context_tokens: contextTokens,
      ...(alias !== id && { aliases: [alias] }),
      upstream: Object.fromEntries(
        [...upstream].map(([family, { model, vendor }]) => [
          family,
          { model, cost, ...(vendor !== null && { vendor }), ...parametersOf(family, model) },
        ]),
      ),
    },
  };
}

/** OpenAI's reasoning models refuse the temperature that a request has by default, and the old name of its length. */
const parametersOf = (family: string, model: string) =>
  family === 'openai' && /^(o\d|gpt-[5-9])(?!.*chat)/.test(model)
    ? {
        parameters: {
          max_tokens: { name: 'max_completion_tokens' },
          ...Object.fromEntries(samplingParameters.map((name) => [name, null])),
        },
      }
    : {};
const samplingParameters = ['temperature', 'top_p', 'top_k', 'stop'];

const fileName = (group: string): string => group.replace(/[^\w.-]+/g, '-') || 'group';

function plansTable({ owners, groupOf }: ImportedInstallation): string {
  const rows = owners.map(({ id, name }) => [id, name, groupOf.get(id) ?? '']);
  return csv([['id', 'project', 'plan'], ...rows]);
}

/** A value that a table would run as a formula begins with an apostrophe. */
const csv = (rows: readonly (readonly string[])[]): string =>
  rows
    .map(
      (row) =>
        `${row.map((value) => `"${(/^[=+@-]/.test(value) ? `'${value}` : value).replaceAll('"', '""')}"`).join(',')}\n`,
    )
    .join('');
