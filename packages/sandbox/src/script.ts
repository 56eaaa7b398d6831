import { LRUCache } from 'lru-cache';

/**
 * The script of one call, given by words in double square brackets anywhere in its prompt or message:
 * `latency=MS`, `fail=KIND`, `on=CHANNEL`, `times=N`, `outputs=N`, `tool=NAME` or `tool=NAME,NAME`, `args={…}` or `args=[{…},{…}]`, `calls=N`, `usage=IN,OUT` or `usage=none`,
 * `cached=N`, `written=N`, `thoughts=N` or `reasoning=N`, `tokens=N`, and for streamed chats `rate=PER_SECOND`, `cut=AFTER_N`, `silent=AFTER_N`, `garble=AFTER_N`,
 * `break=AFTER_N`.
 * Each group is a rule of its own: `a red fox [[fail=transient on=sandbox-a]] [[latency=50]]`.
 */
export interface Behaviour {
  latencyMs?: number | undefined;
  fail?: FailKind | undefined;
  outputs?: number | undefined;
  /** Chat: answer with a call of this tool, or of several, apart by commas. */
  tool?: string | undefined;
  /** Chat: how often the tools are called, once after each round of results. 1 by default. */
  calls?: number | undefined;
  /** Chat: the JSON text of that call's arguments, or a list with those of each call. */
  toolArguments: string;
  /** Chat: the tokens to report, or `none` to leave usage out. */
  usage?: { input: number; output: number } | 'none' | undefined;
  /** Chat: tokens of the input that came from the prompt cache. */
  cached?: number | undefined;
  /** Chat: tokens of the input that were written to the prompt cache. Anthropic and OpenAI's Responses report them. */
  written?: number | undefined;
  /** Chat: tokens of thoughts before the answer. If they use up `max_tokens`, the answer has no text. */
  thoughts?: number | undefined;
  /** Chat: the length of the text, in tokens. */
  tokens?: number | undefined;
  /** Chat: tokens per second. A whole answer comes when its last token would. */
  rate?: number | undefined;
  /** Streamed chat: after that many tokens the connection is closed. */
  cut?: number | undefined;
  /** Streamed chat: after that many tokens nothing more comes. */
  silent?: number | undefined;
  /** Streamed chat: after that many tokens comes an event that is not JSON. */
  garble?: number | undefined;
  /** Streamed chat: after that many tokens comes an error of the provider. */
  break?: number | undefined;
}

const streamWords = ['tokens', 'rate', 'cut', 'silent', 'garble', 'break'] as const;

const failKinds = [
  'transient', // 503 in the provider's own words
  'rate_limit', // 429, Retry-After 7
  'refused', // 400, content policy
  'flagged', // 403, content policy: as OpenRouter answers
  'auth', // 401
  'forbidden', // 403 without a reason
  'hang', // no answer
  'stall', // the headers and the first bytes of an answer, then nothing
  'reset', // the socket is closed after the body was read
  'malformed', // HTML with 200
  'empty', // 200 without a body
  'huge', // an endless body
  'no_output', // done, and the content policy withholds the result
  'never', // accepted, never ends
  'lost', // accepted, then 404 for ever
  'late_fail', // accepted, fails while running
] as const;
export type FailKind = (typeof failKinds)[number];

/**
 * Counts how often each prompt was submitted and decides what the next call with it does. A word of a later group overrides the
 * same word of an earlier one. The first group whose `fail` still applies decides the failure.
 */
export function createScripting() {
  const counts = new LRUCache<string, number>({ max: countedPromptsMax });

  /** Counts this call and returns how many came before it. */
  const countUp = (key: string): number => {
    const before = counts.get(key) ?? 0;
    counts.set(key, before + 1);
    return before;
  };

  return {
    /** Call it exactly once for each submit or chat, because it counts them. */
    next(prompt: string, channel: string): Behaviour {
      const rules = parseRules(prompt);
      const behaviour: Behaviour = { toolArguments: '{}' };
      if (rules.length === 0) return behaviour;
      const before = countUp(`*\n${prompt}`);
      const beforeHere = countUp(`${channel}\n${prompt}`);
      for (const words of rules) {
        const on = words.get('on');
        const here = on === undefined || on === channel;
        const fail = failKinds.find((kind) => kind === words.get('fail'));
        const times = wholeNumber(words.get('times')) ?? Infinity;
        if (fail && here && (on === undefined ? before : beforeHere) < times) behaviour.fail ??= fail;
        // In a group with `fail`, `on` limits the failure to that channel. In any other group it limits all of its words.
        if (!fail && !here) continue;
        behaviour.latencyMs = wholeNumber(words.get('latency')) ?? behaviour.latencyMs;
        behaviour.outputs = wholeNumber(words.get('outputs')) ?? behaviour.outputs;
        behaviour.tool = words.get('tool') ?? behaviour.tool;
        behaviour.toolArguments = words.get('args') ?? behaviour.toolArguments;
        behaviour.calls = wholeNumber(words.get('calls')) ?? behaviour.calls;
        behaviour.cached = wholeNumber(words.get('cached')) ?? behaviour.cached;
        behaviour.written = wholeNumber(words.get('written')) ?? behaviour.written;
        behaviour.thoughts = wholeNumber(words.get('thoughts') ?? words.get('reasoning')) ?? behaviour.thoughts;
        for (const word of streamWords) behaviour[word] = wholeNumber(words.get(word)) ?? behaviour[word];
        behaviour.usage = toUsage(words.get('usage')) ?? behaviour.usage;
      }
      return behaviour;
    },
  };
}
export type Scripting = ReturnType<typeof createScripting>;

const countedPromptsMax = 50_000;
const groupsMax = 32;

type Rule = Map<string, string>;

/** Reads every `[[…]]` of a text. Unknown words are kept and have no effect. */
function parseRules(prompt: string): Rule[] {
  const rules: Rule[] = [];
  let from = prompt.indexOf('[[');
  while (from >= 0 && rules.length < groupsMax) {
    const { words, end } = parseGroup(prompt, from + 2);
    if (end < 0) break;
    rules.push(words);
    from = prompt.indexOf('[[', end);
  }
  return rules;
}

/** Reads one group from after its `[[` to its `]]`. `end` is -1 if it is not closed. A value in braces or brackets may contain anything. */
function parseGroup(text: string, start: number): { words: Rule; end: number } {
  const words: Rule = new Map();
  let at = start;
  while (at < text.length) {
    if (/[\s,]/.test(text.charAt(at))) at += 1;
    else if (text.startsWith(']]', at)) return { words, end: at + 2 };
    else {
      const name = /^[^\s=[\]]*/.exec(text.slice(at, at + 64))?.[0] ?? '';
      at += name.length;
      if (text.charAt(at) !== '=') {
        if (name === '') at += 1;
        continue;
      }
      const rest = text.slice(at + 1);
      const value = /^[{[]/.test(rest) ? bracketed(rest) : (/^(?:(?!\]\])\S)*/.exec(rest)?.[0] ?? '');
      words.set(name, value);
      at += 1 + value.length;
    }
  }
  return { words, end: -1 };
}

/** The JSON object or list at the start of a text, nested brackets, braces and strings included. */
function bracketed(text: string): string {
  const [open, close] = text.startsWith('{') ? ['{', '}'] : ['[', ']'];
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === open) depth += 1;
    else if (character === close) {
      depth -= 1;
      if (depth === 0) return text.slice(0, at + 1);
    }
  }
  return text;
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;

function toUsage(text: string | undefined): Behaviour['usage'] {
  if (text === 'none') return 'none';
  const match = /^(-?\d{1,9}),(-?\d{1,9})$/.exec(text ?? '');
  return match ? { input: Number(match[1]), output: Number(match[2]) } : undefined;
}
