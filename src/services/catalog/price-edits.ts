import { isMap, isPair, isScalar, isSeq, stringify, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import type { PricingRule } from '../../domain/catalog/price-schema.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { conditionsOf } from '../../domain/ledger/pricing.ts';

/** A part of a file's text that is replaced. An insertion has the same start and end. */
export interface TextEdit {
  start: number;
  end: number;
  text: string;
}

/** The text with its edits, which must not overlap. Everything between them stays as it is: comments, order, quotes and line breaks. */
export const applyEdits = (text: string, edits: readonly TextEdit[]): string =>
  [...edits]
    .sort((one, other) => one.start - other.start || one.end - other.end)
    .reduceRight((edited, { start, end, text: own }) => edited.slice(0, start) + own + edited.slice(end), text);

/** Sets numbers and texts of a map, which may have further maps of them. A new member follows the one that it comes after in `members`. */
export function setMembers(text: string, map: YAMLMap, members: Readonly<JsonObject>): TextEdit[] {
  const edits: TextEdit[] = [];
  let previous: Pair | undefined;
  const added: { key: string; value: JsonObject[string]; after: Pair | undefined }[] = [];
  for (const [key, value] of Object.entries(members)) {
    const pair = pairOf(map, key);
    if (pair === undefined) added.push({ key, value, after: previous });
    else if (isMap(pair.value) && isObject(value)) edits.push(...setMembers(text, pair.value, value));
    else edits.push(...setScalar(pair, value, isJson(text, map)));
    previous = pair ?? previous;
  }
  return [...edits, ...added.map(({ key, value, after }) => addMember(text, map, { key, value, after }))];
}

function setScalar(pair: Pair, value: JsonObject[string], isQuoted: boolean): TextEdit[] {
  const node = pair.value;
  if (!isScalar(node) || !node.range || node.value === value) return [];
  return [{ start: node.range[0], end: node.range[1], text: flowText(value, isQuoted) }];
}

function addMember(
  text: string,
  map: YAMLMap,
  { key, value, after = map.items.at(-1) }: { key: string; value: JsonObject[string]; after?: Pair | undefined },
): TextEdit {
  const end = after === undefined ? startOf(map) + 1 : valueEnd(after);
  if (map.flow) {
    const own = `${isJson(text, map) ? JSON.stringify(key) : key}: ${flowText(value, isJson(text, map))}`;
    return insertion(end, after === undefined ? ` ${own} ` : `, ${own}`);
  }
  const indent = ' '.repeat(columnAt(text, startOf(map)));
  return insertion(lineEnd(text, end), `\n${indent}${blockText(key, value, indent)}`);
}

const blockText = (key: string, value: JsonObject[string], indent: string): string =>
  typeof value === 'object' && value !== null
    ? [`${key}:`, ...Object.entries(value).map(([name, own]) => `${indent}  ${name}: ${flowText(own, false)}`)].join(
        '\n',
      )
    : `${key}: ${JSON.stringify(value)}`;

/** Removes members of a map, with the comments in their lines. Those of a map in braces go with their commas. */
export function removeMembers(text: string, map: YAMLMap, keys: readonly string[]): TextEdit[] {
  const ranges = map.items.map((pair): Range => [keyStart(pair), valueEnd(pair)]);
  const isRemoved = (index: number): boolean => keys.some((key) => isKey(map.items[index], key));
  return map.flow ? flowRemovals(ranges, isRemoved) : lineRemovals(text, ranges, isRemoved);
}

/**
 * Sets the rules of a list: a rule with the same conditions keeps its place and its comments, a new one follows the last rule of its value, and
 * a rule that is not among them leaves, unless its value has none among them.
 */
export function setRules(text: string, list: YAMLSeq, rules: readonly PricingRule[]): TextEdit[] {
  const items = list.items.filter(isMap);
  const existing = items.map((item) => item.toJSON() as PricingRule);
  const ids = existing.map(({ match }) => ruleId(match));
  const ruleAt = (index: number): PricingRule | undefined => rules.find(({ match }) => ruleId(match) === ids[index]);
  const leaves = (index: number): boolean =>
    ruleAt(index) === undefined && rules.some(({ match }) => match.value === existing[index]?.match.value);
  const left = [...items.keys()].filter((index) => !leaves(index));
  if (list.flow && left.length === 0) return [replaceItems(text, list, rules)];
  const ranges = items.map((item): Range => [startOf(item), item.range?.[1] ?? 0]);
  const edits = list.flow ? flowRemovals(ranges, leaves) : lineRemovals(text, ranges, leaves);
  for (const index of left) {
    const rule = ruleAt(index);
    const item = items[index];
    if (rule && item) edits.push(...setMembers(text, item, { credits: rule.credits }));
  }
  for (const rule of rules.filter(({ match }) => !ids.includes(ruleId(match)))) {
    const after = left.findLast((index) => existing[index]?.match.value === rule.match.value) ?? left.at(-1);
    edits.push(addItem(text, list, after === undefined ? undefined : items[after], rule));
  }
  return edits;
}

const ruleId = (match: PricingRule['match']): string =>
  JSON.stringify(
    conditionsOf(match)
      .map(({ key, value }) => [key, value])
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
  );

function addItem(text: string, list: YAMLSeq, after: YAMLMap | undefined, rule: PricingRule): TextEdit {
  const own = flowText(rule, isJson(text, list));
  const start = startOf(list);
  const end = after?.range?.[1];
  if (list.flow) return insertion(end ?? start + 1, `, ${own}`);
  const line = `${' '.repeat(columnAt(text, start))}- ${own}`;
  return end === undefined
    ? insertion(lineStart(text, start), `${line}\n`)
    : insertion(lineEnd(text, end), `\n${line}`);
}

/** All rules of a list in brackets of which none stays. */
function replaceItems(text: string, list: YAMLSeq, rules: readonly PricingRule[]): TextEdit {
  const own = rules.map((rule) => flowText(rule, isJson(text, list))).join(', ');
  return { start: startOf(list) + 1, end: (list.range?.[1] ?? 0) - 1, text: own };
}

type Range = [start: number, end: number];

const lineRemovals = (text: string, ranges: readonly Range[], isRemoved: (index: number) => boolean): TextEdit[] =>
  ranges
    .filter((_, index) => isRemoved(index))
    .map(([start, end]) => ({ start: lineStart(text, start), end: lineEnd(text, end) + 1, text: '' }));

/** The first of a list or map goes with the comma after it as long as none stays before, any other with the comma before it. */
function flowRemovals(ranges: readonly Range[], isRemoved: (index: number) => boolean): TextEdit[] {
  const firstLeft = ranges.findIndex((_, index) => !isRemoved(index));
  return ranges.flatMap(([start, end], index): TextEdit[] => {
    if (!isRemoved(index)) return [];
    const next = index < firstLeft ? ranges[index + 1] : undefined;
    return [next ? { start, end: next[0], text: '' } : { start: ranges[index - 1]?.[1] ?? start, end, text: '' }];
  });
}

/** A member of a map before every other, such as the list of rules of a model that had none. */
export function prependMember(text: string, map: YAMLMap, key: string, value: JsonObject[string]): TextEdit {
  const isQuoted = isJson(text, map);
  const own = `${isQuoted ? JSON.stringify(key) : key}: ${flowText(value, isQuoted)}`;
  const [first] = map.items;
  if (first === undefined) return insertion(startOf(map) + 1, own);
  const indent = ' '.repeat(columnAt(text, startOf(map)));
  return insertion(keyStart(first), map.flow ? `${own}, ` : `${own}\n${indent}`);
}

/** The maps of the models in a file of a catalog. */
export function modelNodes(contents: unknown): YAMLMap[] {
  if (!isMap(contents)) return [];
  const list = nodeOf(contents, 'models') ?? nodeOf(contents, 'data');
  return isSeq(list) ? list.items.filter(isMap) : [];
}

/** The map or list of a member; undefined if the member is absent or a scalar. */
export function nodeOf(map: YAMLMap, key: string): YAMLMap | YAMLSeq | undefined {
  const value = pairOf(map, key)?.value;
  return isMap(value) || isSeq(value) ? value : undefined;
}

export const hasMember = (map: YAMLMap, key: string): boolean => pairOf(map, key) !== undefined;

const isKey = (pair: unknown, key: string): boolean => isPair(pair) && isScalar(pair.key) && pair.key.value === key;
const pairOf = (map: YAMLMap, key: string): Pair | undefined => map.items.find((pair) => isKey(pair, key));

/** As YAML in braces, or as JSON where the file is JSON. */
function flowText(value: JsonObject[string], isQuoted: boolean): string {
  if (isQuoted) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((each) => flowText(each, false)).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, own]) => `${key}: ${flowText(own, false)}`)
      .join(', ')} }`;
  // In a list, because a text that is plain in a line of its own needs quotes in braces.
  return stringify([value], { ...flowStyle, singleQuote: true })
    .trim()
    .slice(1, -1);
}
const flowStyle = { collectionStyle: 'flow', flowCollectionPadding: false, lineWidth: 0 } as const;

const isJson = (text: string, node: YAMLMap | YAMLSeq): boolean => {
  const [first] = node.items;
  const inner = isPair(first) ? keyStart(first) : isMap(first) && first.items[0] ? keyStart(first.items[0]) : -1;
  return text[inner] === '"';
};

const insertion = (at: number, text: string): TextEdit => ({ start: at, end: at, text });
const startOf = (node: YAMLMap | YAMLSeq): number => node.range?.[0] ?? 0;
const keyStart = (pair: Pair): number => (isScalar(pair.key) ? (pair.key.range?.[0] ?? 0) : 0);
const valueEnd = (pair: Pair): number => {
  const { value } = pair;
  if (isMap(value) && !value.flow && value.items.length > 0) return valueEnd(value.items.at(-1) as Pair);
  return isScalar(value) || isMap(value) || isSeq(value) ? (value.range?.[1] ?? 0) : 0;
};
const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;
const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};
const columnAt = (text: string, at: number): number => at - lineStart(text, at);
