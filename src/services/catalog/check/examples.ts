import { mediaFamilies } from '../../../adapters/registry.ts';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { GatewayError } from '../../../domain/errors.ts';
import { issueWords } from '../../../domain/issue-words.ts';
import { assertMade } from '../../../domain/tasks/offered-requests.ts';
import { envelopeKeys, reservedKeys, resolveMediaRequest } from '../../../domain/catalog/parameters.ts';
import { mediaCredits } from '../../../domain/ledger/pricing.ts';
import { ChatExample } from './chat.ts';
import type { Findings } from './findings.ts';

/** Checks that the model accepts every example and has a price for it. */
export function checkExamples(entry: CatalogEntry, { problem }: Findings): void {
  for (const [index, { values }] of (entry.model.parameters.examples ?? []).entries()) {
    const path = `parameters.examples.${index}`;
    if (Object.hasOwn(values, 'model') && values.model !== entry.model.id) problem(path, 'names another model');
    if (entry.model.type === 'chat') {
      const chat = ChatExample.safeParse(values, { error: issueWords });
      for (const issue of chat.error?.issues ?? [])
        problem([path, 'values', ...issue.path.map(String)].join('.'), issue.message);
      continue;
    }
    const refusal = refusalOf(entry, values);
    if (refusal !== undefined) problem(path, `is not a valid request: ${refusal}`);
  }
}

/** Checks that every alias of an image or video model presets only tuning parameters, with values that the model accepts. */
export function checkAliases(entry: CatalogEntry, { problem }: Findings): void {
  if (entry.model.type === 'chat') return;
  for (const [alias, preset] of Object.entries(entry.private.aliases)) {
    const path = `private.aliases.${alias}`;
    const refusedMembers = Object.keys(preset).filter((member) => reservedKeys.has(member) || envelopeKeys.has(member));
    if (refusedMembers.length > 0) problem(path, `can only preset tuning parameters, not ${refusedMembers.join(', ')}`);
    const refusal = refusedMembers.length > 0 ? undefined : refusalOf(entry, { ...preset, prompt: 'preset' });
    if (refusal !== undefined) problem(path, `is not a valid request: ${refusal}`);
  }
}

/** Why validation or pricing refuses a request; undefined if both accept it. */
function refusalOf(entry: CatalogEntry, body: Record<string, unknown>): string | undefined {
  const checkUrl = (value: string, param: string): void => {
    if (/^(https:\/\/[^\s/@]+\.[^\s@]+|file_\w+|data:\w+\/[\w.+-]+;base64,[\w+/=]+)$/.test(value)) return;
    throw new GatewayError('invalid_url', {
      message: `${param} must be an https URL, a file id or a data URI.`,
      param,
    });
  };
  try {
    const { input } = resolveMediaRequest(entry, body, { checkUrl });
    mediaCredits(entry.model, input);
    assertMade(entry, input, mediaFamilies);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
