import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ImportOutcome } from '../../services/imports/run-import.ts';
import type { WrittenSpent } from '../../services/imports/write-spent.ts';
import { importPrograms } from '../../domain/imports/imported.ts';
import { exactSum } from '../../domain/imports/source-money.ts';
import { ImportResult } from '../schemas/imports.ts';
import { action, flag, option } from '../define-action.ts';
import { shortText, text } from '../input.ts';
import { oneLine, factText } from '../plain-text.ts';

const sourceName = shortText.regex(/^[\w.-]{1,40}$/, 'must be letters, digits and . _ - only, at most 40');

/** `tollgate import`: moves an installation of another gateway here, with its keys. */
export const importAction = action({
  summary: 'import projects, keys and channels of one-api, new-api or LiteLLM; again, what changed there since',
  input: {
    program: z.enum(importPrograms).describe(`gateway to import: ${importPrograms.join(', ')}`),
    from: option('<source>', text().trim().min(1, 'must not be empty')).describe(
      'SQLite file, dump in SQL, address mysql://… or postgresql://…, or config.yaml of LiteLLM; it is only read',
    ),
    dryRun: flag().describe('only say what would be imported'),
    report: option('<file>', text().optional()).describe(
      'write all that was found into this file, and drafts of prices into a folder beside it',
    ),
    as: option('<name>', sourceName.optional()).describe(
      'name of the installation, if several of one program are imported (default: its program)',
    ),
    spent: option('<folder>', text().optional()).describe(
      'import nothing, and write into this folder what each project has spent here since its import, as SQL for the former gateway',
    ),
    skipRefused: flag().describe('import the rest if records are refused'),
  },
  route: { local: "reads another gateway's database from this machine" },
  answer: ImportResult,
  needs: 'importer',
  async run(deps, { program, from, dryRun: isDry, report, as: source = program, spent: folder, skipRefused }, actor) {
    const { runImport } = await import('../../services/imports/run-import.ts');
    const { writeImportDrafts } = await import('../../services/imports/import-drafts.ts');
    const { writeSpent } = await import('../../services/imports/write-spent.ts');
    const progress = createProgress();
    const dryRun = isDry || folder !== undefined;
    const input = { program, from, source, dryRun, skipRefused, actor, progress, env: deps.env };
    const outcome = await runImport(deps, input);
    const drafts = report === undefined || dryRun || outcome.refused ? null : report.replace(/(\.\w+)?$/, '-drafts');
    if (drafts !== null) await writeImportDrafts(drafts, source, outcome.installation);
    const { installation } = outcome;
    const spent = folder === undefined ? null : await writeSpent(deps, folder, { program, source, installation });
    const document = documentOf(outcome, { program, source, dryRun, drafts, spent });
    const { refused } = outcome;
    if (report !== undefined) await writeFile(report, reportText(report, document, refused), { mode: 0o600 });
    if (!spent) return { document, text: textOf(document, refused), refused };
    const written = `${spent.projects} files with ${spent.credits} credits spent are in ${folder}. Run each once.`;
    return { document, text: written, refused: false };
  },
});

type ImportDocument = z.input<typeof ImportResult>;

function documentOf(
  { installation, created, changed, unchanged, gone, notices }: ImportOutcome,
  {
    program,
    source,
    dryRun,
    drafts,
    spent,
  }: { program: string; source: string; dryRun: boolean; drafts: string | null; spent: WrittenSpent | null },
): ImportDocument {
  const { owners, redemptions, leftOut } = installation;
  return {
    program,
    source,
    dry_run: dryRun,
    created,
    changed,
    unchanged,
    gone,
    credits: {
      balances: exactSum(owners.map(({ credits }) => credits)),
      owed: exactSum(owners.map(({ credits }) => Math.max(0, -credits))),
      without_budget: owners.filter(({ overdraft }) => overdraft > 0).length,
    },
    redemptions: { codes: redemptions.length, credits: exactSum(redemptions.map(({ credits }) => credits)) },
    left_out: Object.fromEntries(leftOut),
    notices,
    drafts,
    spent,
  };
}

/** Notices that the terminal shows; the report has all of them. */
const shownMax = 50;

function textOf(document: ImportDocument, refused: boolean): string {
  const { created, changed, gone, dry_run: dryRun, notices, drafts } = document;
  const isNothing = [created, changed].every((counts) => Object.values(counts).every((count) => count === 0));
  const head = refused
    ? 'Nothing was imported, because records are refused. Mend them there, or import the rest with --skip-refused.'
    : isNothing
      ? 'Nothing to do: everything there has been imported.'
      : dryRun
        ? 'This would be imported. Nothing was written.'
        : 'Imported.';
  const inWords = ({ projects, keys, channels }: ImportDocument['created']): string =>
    `${projects} projects, ${keys} keys, ${channels} channels`;
  const order = ['refused', 'left_out', 'check', 'changed'];
  const sorted = notices.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  return [
    head,
    factText({
      created: inWords(created),
      changed: inWords(changed),
      gone_there: inWords(gone),
      balances: document.credits.balances,
      redemptions: `${document.redemptions.codes} codes, ${document.redemptions.credits} credits, given by credits redeem`,
      left_out: Object.entries(document.left_out)
        .map(([name, count]) => `${count} ${name}`)
        .join(', '),
      drafts: drafts ?? 'none: --report writes them',
    }),
    ...sorted
      .slice(0, shownMax)
      .map(({ kind, subject, sentence }) => oneLine(`${noticeWords[kind] ?? kind}: ${subject} ${sentence}`)),
    ...(sorted.length > shownMax ? [`… and ${sorted.length - shownMax} more, which --report has.`] : []),
  ].join('\n');
}

const noticeWords: Readonly<Record<string, string>> = {
  refused: 'Refused',
  left_out: 'Left out',
  check: 'Please check',
  changed: 'Changed',
};

const reportText = (file: string, document: ImportDocument, refused: boolean): string =>
  file.endsWith('.json')
    ? `${JSON.stringify(document, null, 2)}\n`
    : `${textOf(document, refused)}\n${everything(document)}`;

const everything = ({ notices }: ImportDocument): string =>
  notices.length <= shownMax
    ? ''
    : `\n${notices.map(({ kind, subject, sentence }) => oneLine(`${noticeWords[kind] ?? kind}: ${subject} ${sentence}`)).join('\n')}\n`;

const progressEveryMs = 1_000;

/** One line a second on stderr, which is free of the document. */
function createProgress(): (done: string) => void {
  let shownAt = performance.now();
  return (done) => {
    if (performance.now() - shownAt < progressEveryMs) return;
    shownAt = performance.now();
    process.stderr.write(`import: ${done}\n`);
  };
}
