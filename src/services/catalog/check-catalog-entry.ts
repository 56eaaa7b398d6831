import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { checkChat } from './check/chat.ts';
import { checkDescriptors, checkVariants } from './check/descriptors.ts';
import { checkAliases, checkExamples } from './check/examples.ts';
import type { CatalogProblem, Findings } from './check/findings.ts';
import { checkMedia } from './check/media.ts';
import { checkUpstream } from './check/upstream.ts';

/** Checks the rules between the members of an entry of valid shape (rules "Catalog"). */
export function checkCatalogEntry(entry: CatalogEntry): { problems: CatalogProblem[]; warnings: string[] } {
  const problems: CatalogProblem[] = [];
  const warnings: string[] = [];
  const { id } = entry.model;
  const findings: Findings = {
    problem: (path, message) => problems.push({ model: id, path, message }),
    warn: (path, message) => warnings.push(`${id} ${path}: ${message}`),
  };
  checkVariants(entry, findings);
  checkDescriptors(entry, findings);
  if (entry.model.type === 'chat') checkChat(entry, findings);
  else checkMedia(entry, findings);
  // Examples and presets are checked as requests, which says nothing new if the parameters are wrong.
  if (problems.length === 0) checkExamples(entry, findings);
  if (problems.length === 0) checkAliases(entry, findings);
  checkUpstream(entry, findings);
  if (entry.private.retired !== undefined && entry.model.status === 'active') {
    findings.problem('private.retired', 'is for models whose status is not active');
  }
  return { problems, warnings };
}

/** Checks that no two models share an id or an alias. The id of a retired model may be an alias of its successor. */
export function checkCatalogNames(entries: readonly CatalogEntry[]): CatalogProblem[] {
  const problems: CatalogProblem[] = [];
  const ids = new Set<string>();
  const retired = new Set(entries.filter((entry) => entry.private.retired !== undefined).map(({ model }) => model.id));
  const aliases = new Set<string>();
  for (const { model } of entries) {
    if (ids.has(model.id)) problems.push({ model: model.id, path: 'id', message: 'is used by two models' });
    ids.add(model.id);
  }
  for (const { model, private: hidden } of entries) {
    for (const alias of Object.keys(hidden.aliases)) {
      const path = `private.aliases.${alias}`;
      const isSuccessor = retired.has(alias) && alias !== model.id;
      if (ids.has(alias) && !isSuccessor) {
        problems.push({ model: model.id, path, message: 'is also the id of a model' });
      }
      if (aliases.has(alias)) problems.push({ model: model.id, path, message: 'is an alias of two models' });
      aliases.add(alias);
    }
  }
  return problems;
}
