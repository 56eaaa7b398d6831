import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { chatEndReasons, sentenceOf } from '../../src/domain/chat/chat-end-reason.ts';
import { errorTable } from '../../src/domain/errors.ts';
import { taskErrorTable } from '../../src/domain/tasks/task.ts';
import { templateOf } from '../../src/http/openapi/describe-routes.ts';
import { statusOf } from '../../src/http/response/error-status.ts';
import { createProgram } from '../../src/main/cli.ts';
import { describedRoutes } from '../http/openapi/described-routes.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const filesBelow = (folder: string, ending: string): string[] =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(new URL('docs', root))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
/** The cells of each row of a Markdown table that begins with a name in backticks. */
const tableRows = (text: string): string[][] =>
  [...text.matchAll(/^\| `.*$/gm)].map(([line]) =>
    line
      .replace(/\\\|/g, '¦')
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const section = (path: string, heading: string): string =>
  read(path).split(`\n${heading}\n`)[1]?.split(/\n#+ /)[0] ?? '';
const inBackticks = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name ?? '');

describe('the README', () => {
  it('has at most 120 lines', () => {
    expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
  });

  it('links to every other document', () => {
    const others = documents.filter((path) => path !== 'README.md');
    expect(others.filter((path) => !read('README.md').includes(`](${path})`))).toEqual([]);
  });

  it('shows five guarantees, each with a test', () => {
    const guarantees = section('README.md', '## What it guarantees');
    expect([...guarantees.matchAll(/^\|.*\]\(test\/[\w/-]+\.test\.ts\) +\|$/gm)]).toHaveLength(5);
  });
});

describe('docs/API.md', () => {
  it('lists every route, and no other', () => {
    const inCode = describedRoutes().map(({ path }) => templateOf(path));
    const consolePages = ['/console', '/console/*page', '/console/assets/{name}'];
    const documented = inBackticks(section('docs/API.md', '## Routes')).flatMap(
      (text) => /^(?:GET|POST|DELETE) (\/\S*)$/.exec(text)?.[1] ?? [],
    );
    const outsideTheTable = ['/livez', '/readyz', '/metrics'];
    expect([...new Set(documented)].sort()).toEqual(
      [...new Set([...inCode, ...consolePages, ...outsideTheTable])].sort(),
    );
  });

  it('lists every error code with its status and whether a retry can help', () => {
    const documented = tableRows(section('docs/API.md', '## Errors')).map((cells) => cells.slice(0, 3));
    const statuses = new Map(Object.entries<number>(statusOf));
    expect(documented).toEqual(
      Object.entries(errorTable).map(([code, row]) => [
        `\`${code}\``,
        String(statuses.get(code)),
        'retry' in row ? 'no' : 'yes',
      ]),
    );
  });

  it('lists every error of a task', () => {
    const documented = tableRows(section('docs/API.md', '## Tasks')).filter(([, retryable = '']) =>
      ['true', 'false'].includes(retryable),
    );
    expect(documented.map((cells) => cells.slice(0, 2))).toEqual(
      Object.entries(taskErrorTable).map(([code, { retryable }]) => [`\`${code}\``, String(retryable)]),
    );
  });
});

describe('the reasons of refunds', () => {
  it('stand in docs/API.md with their sentences, and in docs/RUNBOOK.md with what to do', () => {
    const documented = tableRows(read('docs/API.md')).map(([name, meaning]) => `${name} ${meaning}`);
    expect(documented).toEqual(
      expect.arrayContaining(chatEndReasons.map((reason) => `\`${reason}\` ${sentenceOf(reason)}`)),
    );
    const advice = inBackticks(section('docs/RUNBOOK.md', '## Why was this chat refunded?'));
    // An empty answer is charged with 0 and not refunded.
    expect(chatEndReasons.filter((reason) => !advice.includes(reason))).toEqual(['empty_answer']);
  });
});

const everyCommand = createProgram({ env: {}, write: () => undefined, exitCode: 0 }, false);

describe('docs/CLI.md', () => {
  const commands = leaves(everyCommand);
  const documented = tableRows(read('docs/CLI.md')).map(([cell = '']) => inBackticks(cell)[0] ?? '');

  it('lists every command', () => {
    expect(commands.length).toBeGreaterThan(30);
    expect(commands.filter(({ name }) => !documented.some((text) => `${text} `.startsWith(`${name} `)))).toEqual([]);
  });

  it('names every option', () => {
    const options = commands.flatMap(({ options }) => options).filter((flag) => !['--json', '--help'].includes(flag));
    expect([...new Set(options)].filter((flag) => !read('docs/CLI.md').includes(flag))).toEqual([]);
  });
});

interface Leaf {
  name: string;
  options: string[];
}

function leaves(command: Command, path: readonly string[] = []): Leaf[] {
  if (command.commands.length === 0) {
    return [{ name: path.join(' '), options: command.options.flatMap(({ long }) => long ?? []) }];
  }
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

describe('every command that a document shows', () => {
  it('exists', () => {
    const names = leaves(everyCommand).map(({ name }) => name);
    const shown = documents
      .filter((path) => path !== 'CHANGELOG.md')
      .flatMap((path) => [...read(path).matchAll(/\btollgate ((?:[a-z]+ ?)+)/g)].map(([, words = '']) => words.trim()));
    const groups = names.map((name) => name.split(' ')[0] ?? '');
    const commandsShown = shown.filter((words) => groups.includes(words.split(' ')[0] ?? ''));
    expect(commandsShown.length).toBeGreaterThan(10);
    const exists = (words: string) => names.some((name) => `${words} `.startsWith(`${name} `));
    expect(commandsShown.filter((words) => !exists(words))).toEqual([]);
  });

  it('is a script of package.json where npm runs it', () => {
    const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
    const shown = documents.flatMap((path) => [...read(path).matchAll(/\bnpm run ([\w:]+)/g)].map(([, name]) => name));
    expect([...new Set(shown)].filter((name = '') => !(name in scripts))).toEqual([]);
  });
});

describe('docs/RULES.md', () => {
  it('has every section that a comment names', () => {
    const headings = [...read('docs/RULES.md').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);
    const named = [...filesBelow('src', '.ts'), ...filesBelow('test', '.ts')].flatMap((path) =>
      [...read(path).matchAll(/\brules "([^"\n]+)"/g)].map(([, heading]) => heading),
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((heading) => !headings.includes(heading))).toEqual([]);
  });
});

describe('docs/DECISIONS.md', () => {
  const records = read('docs/DECISIONS.md')
    .split('\n### ')
    .slice(1)
    .map((text) => {
      const [heading = '', , state = ''] = text.split('\n');
      return { heading, state, number: Number(/^(\d+)\. \S/.exec(heading)?.[1]) };
    });
  const numbers = records.map(({ number }) => number).sort((a, b) => a - b);

  it('has at most 80 records, numbered from 1 without a gap', () => {
    expect(records.length).toBeGreaterThan(40);
    expect(records.length).toBeLessThanOrEqual(80);
    expect(numbers).toEqual(records.map((_, index) => index + 1));
  });

  it('begins each part with a record', () => {
    const parts = read('docs/DECISIONS.md').split('\n## ').slice(1);
    expect(parts.filter((text) => !/^.+\n\n### /.test(text)).map((text) => text.split('\n')[0])).toEqual([]);
  });

  it('gives each record its date and whether another record has replaced it', () => {
    const form = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]) · (?:accepted|replaced by \d+)$/;
    expect(records.filter(({ state }) => !form.test(state))).toEqual([]);
  });

  it('names an existing, other record where one was replaced', () => {
    const replaced = records.flatMap(({ number, state }) => {
      const by = / · replaced by (\d+)$/.exec(state)?.[1];
      return by === undefined ? [] : [{ number, by: Number(by) }];
    });
    expect(replaced.length).toBeGreaterThan(0);
    expect(replaced.filter(({ number, by }) => by === number || !numbers.includes(by))).toEqual([]);
  });

  it('has every record that a comment, a script or another document names', () => {
    const named = [
      ...documents,
      'Dockerfile',
      ...filesBelow('src', '.ts'),
      ...filesBelow('test', '.ts'),
      ...filesBelow('scripts', '.mjs'),
    ].flatMap((path) =>
      [...read(path).matchAll(/DECISIONS\.md[`)]*,\s+(?:[*#]\s+)?(\S+(?: \d+)?)/g)].map(([, what = '']) => ({
        path,
        number: Number(/^record (\d+)/.exec(what)?.[1]),
      })),
    );
    const measured = [
      ...section('docs/BENCHMARKS.md', '## Numbers behind decisions').matchAll(/\*\*Record (\d+)\*\*/g),
    ];
    expect(named.length).toBeGreaterThan(4);
    expect(measured.length).toBeGreaterThan(10);
    expect(named.filter(({ number }) => !numbers.includes(number))).toEqual([]);
    expect(measured.filter(([, number]) => !numbers.includes(Number(number)))).toEqual([]);
  });
});

describe('the documents', () => {
  it('link to files that exist', () => {
    const links = documents.flatMap((document) =>
      [...read(document).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => ({ document, path })),
    );
    expect(links.filter(({ document, path }) => !existsSync(new URL(path, new URL(document, root))))).toEqual([]);
  });

  it('name files of the project that exist', () => {
    const paths = documents
      .filter((path) => path !== 'CHANGELOG.md')
      .flatMap((document) =>
        inBackticks(read(document))
          .filter((text) => /^(?:src|test|scripts|bench|catalog|deploy|docs)\/[\w./-]+$/.test(text))
          .map((path) => ({ document, path })),
      );
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter(({ path }) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  it('name SQL functions that exist', () => {
    const named = documents.flatMap((document) =>
      inBackticks(read(document)).filter((text) => /^\w+\.sql$/.test(text)),
    );
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((name) => !existsSync(new URL(`src/db/sql/functions/${name}`, root)))).toEqual([]);
  });
});
