import type { Model } from '../catalog/catalog.ts';

type Named = Pick<Model, 'id' | 'type' | 'group' | 'owned_by'>;

const kinds = {
  id: (model) => model.id,
  type: (model) => model.type,
  group: (model) => model.group,
  vendor: (model) => model.owned_by,
} as const satisfies Record<string, (model: Named) => string>;

type Kind = keyof typeof kinds;

const types: readonly string[] = ['chat', 'image', 'video'] satisfies Model['type'][];

/** What `models` of a plan's rule names: `kind` is the member of the model whose value the glob is compared with. */
interface ModelPattern {
  kind: Kind;
  glob: string;
}

/**
 * Reads `models` of a rule: `group:`, `type:`, `vendor:` or `id:` and a glob, or a glob of ids alone. `chat`, `image` and `video` alone are
 * the types. Ids of models have no colon, so a prefix is never part of one.
 */
export function readModelPattern(text: string): ModelPattern {
  const [, prefix, rest = ''] = /^(id|type|group|vendor):(.*)$/s.exec(text) ?? [];
  if (prefix !== undefined) return { kind: prefix as Kind, glob: rest.trim() };
  return { kind: types.includes(text) ? 'type' : 'id', glob: text };
}

/** Why `models` of a rule cannot be meant so, as the end of a sentence about it; null if it can. */
export function patternProblem(text: string): string | null {
  const { kind, glob } = readModelPattern(text);
  if (glob === '') return `has nothing after "${kind}:"`;
  if (kind === 'type' && !types.some((type) => matchesGlob(glob, type))) return `must name a type: ${types.join(', ')}`;
  if (kind === 'id' && /[^\w.*?-]/.test(glob)) {
    return 'must be a glob of model ids (letters, digits, ".", "_", "-", "*" and "?"), or one after group:, type: or vendor:';
  }
  return null;
}

/** Whether a rule with this `models` names the model. */
export function namesModel(text: string, model: Named): boolean {
  const { kind, glob } = readModelPattern(text);
  return matchesGlob(glob, kinds[kind](model));
}

/** Whether every model that `later` can name, now and in any other catalog, is named by `earlier`. It may miss some of these. */
export function coversPattern(earlier: string, later: string): boolean {
  const [wide, narrow] = [readModelPattern(earlier), readModelPattern(later)];
  if (/^\*+$/.test(wide.glob)) return true;
  // A wildcard of the narrow glob is a character that only `*` of the wide one matches.
  return wide.kind === narrow.kind && matchesGlob(wide.glob, narrow.glob);
}

/** Whether a glob matches a whole text, in any case: `*` is any run of characters, `?` one character that is no wildcard. */
export function matchesGlob(glob: string, text: string): boolean {
  const [pattern, subject] = [glob.toLowerCase(), text.toLowerCase()];
  let at = 0;
  let star = -1;
  let resumeAt = 0;
  let index = 0;
  while (at < subject.length) {
    const letter = pattern[index];
    if (letter === '*') {
      star = index++;
      resumeAt = at;
    } else if (letter === '?' ? subject[at] !== '*' : letter !== undefined && letter === subject[at]) {
      index++;
      at++;
    } else if (star >= 0) {
      // The last `*` takes one character more.
      index = star + 1;
      at = ++resumeAt;
    } else {
      return false;
    }
  }
  while (pattern[index] === '*') index++;
  return index === pattern.length;
}
