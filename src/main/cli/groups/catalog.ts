import type { Command } from 'commander';
import { z } from 'zod';
import { applyCatalog } from '../../../commands/catalog/apply-catalog.ts';
import { loadCatalog } from '../../../commands/catalog/load-catalog.ts';
import { OperatorError } from '../../../commands/operator-error.ts';
import { listModels } from '../../../db/models.ts';
import type { CatalogEntry } from '../../../domain/catalog.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { shortText } from '../input.ts';
import { database, nothing, type DatabaseDeps } from '../operator-deps.ts';
import { clean, table } from '../plain-text.ts';

/** `tollgate catalog …`: the models on offer. */
export function registerCatalog(root: Command, invocation: Invocation): void {
  const group = root.command('catalog').description('the models on offer, with their prices');
  defineCommand(group, 'check', invocation, {
    summary: 'report the errors of a catalog file; needs no database',
    usage: (command) => command.argument('<file>', 'YAML file with the catalog'),
    input: FileInput,
    needs: nothing,
    run: (_, { file }) => check(file),
  });
  defineCommand(group, 'apply', invocation, {
    summary: 'check a catalog file, then replace the catalog with it',
    usage: (command) => command.argument('<file>', 'YAML file with the catalog'),
    input: FileInput,
    needs: database,
    run: apply,
  });
  defineCommand(group, 'show', invocation, {
    summary: 'list the models of the catalog, or show one model in full',
    usage: (command) => command.argument('[model]', 'id of a model'),
    input: z.object({ model: shortText.optional() }),
    needs: database,
    run: show,
  });
}

// A path may be longer than a name.
const FileInput = z.object({ file: z.string().min(1, 'must not be empty') });

async function check(file: string): Promise<Report> {
  const { entries, warnings } = await loadCatalog(file);
  return {
    document: { ok: true, models: entries.length, warnings },
    text: [`${clean(file)} is valid: ${entries.length} models.`, ...warningLines(warnings)].join('\n'),
  };
}

async function apply(deps: DatabaseDeps, { file }: { file: string }, actor: string): Promise<Report> {
  const applied = await applyCatalog(deps, { file, actor });
  const changes = (['added', 'changed', 'removed'] as const).filter((change) => applied[change].length > 0);
  const lines = changes.map((change) => `${change}: ${applied[change].join(', ')}`);
  return {
    document: applied,
    text: [...(lines.length > 0 ? lines : ['Nothing changed.']), ...warningLines(applied.warnings)].join('\n'),
  };
}

async function show({ db }: DatabaseDeps, { model }: { model?: string | undefined }): Promise<Report> {
  const entries = await listModels(db);
  if (model !== undefined) {
    const entry = entries.find((candidate) => candidate.model.id === model);
    if (!entry) throw new OperatorError(`The catalog has no model ${model}.`);
    return { document: toDocument(entry), text: JSON.stringify(toDocument(entry), null, 2) };
  }
  const text = table(
    entries.map((entry) => ({
      id: entry.model.id,
      type: entry.model.type,
      status: entry.model.status,
      public: entry.private.public ? 'yes' : 'no',
      credits: priceOf(entry),
      groups: entry.private.groups.join(','),
      adapters: Object.keys(entry.private.upstream).join(','),
    })),
    'The catalog is empty.',
  );
  return { document: { data: entries.map(toDocument) }, text };
}

/** As in the file. */
const toDocument = (entry: CatalogEntry) => ({ ...entry.model, private: entry.private });

function priceOf({ model: { pricing, parameters } }: CatalogEntry): string {
  if (pricing.unit === 'tokens') {
    return `${pricing.credits_per_1k_input_tokens} in, ${pricing.credits_per_1k_output_tokens} out per 1k`;
  }
  const prices = parameters.pricingRules?.map(({ credits }) => credits) ?? [pricing.credits_per_request];
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  return low === high ? String(low) : `${low} to ${high}`;
}

const warningLines = (warnings: readonly string[]): string[] => warnings.map((warning) => `warning: ${clean(warning)}`);
