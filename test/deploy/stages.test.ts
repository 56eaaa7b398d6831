import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sourcesHash } from '../../scripts/build-console.mjs';
import { nodeBinary } from '../support/program.ts';
import { codeBelow, fillStage, fromOtherStages, linkPackages, namedBy, programsOf, stages } from './stages.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-stage-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

describe('the stages of the Dockerfile', () => {
  it.each(stages)('have every file that they run, and that their code imports or finds beside itself: %j', (name) => {
    fillStage(name, folder);
    const programs = programsOf(name);
    expect(programs.length).toBeGreaterThan(0);
    expect(programs.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
    // The console's stage builds it, and only the programs of the image read it.
    const arrives = [...fromOtherStages(name), ...(name === '' ? [] : ['console/dist'])];
    const isThere = (path: string) =>
      existsSync(join(folder, path)) || arrives.some((each) => `${path}/`.startsWith(`${each}/`));
    const missing = codeBelow(folder).flatMap((file) =>
      namedBy(folder, file)
        .filter((path) => !path.startsWith('node_modules/') && !isThere(path))
        .map((path) => `${file}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('build the console from the files of its stage alone', () => {
    fillStage('console', folder);
    linkPackages(folder);
    const { status, stderr } = spawnSync(nodeBinary, ['scripts/build-console.mjs'], { cwd: folder, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('tollgate:')]);
    const page = readFileSync(join(folder, 'console/dist/index.html'), 'utf8');
    const assets = [...page.matchAll(/"\/console\/(assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
    expect(assets.length).toBeGreaterThan(0);
    expect(assets.filter((path) => !existsSync(join(folder, 'console/dist', path)))).toEqual([]);
  });
});

describe('sourcesHash', () => {
  it('changes with every file that the console imports, and with nothing else of src', () => {
    fillStage('console', folder);
    const imported = new Set<string>();
    const reach = (file: string): void => {
      if (imported.has(file) || !/\.tsx?$/.test(file)) return;
      imported.add(file);
      namedBy(folder, file).forEach(reach);
    };
    reach('console/src/main.tsx');
    expect([...imported]).toEqual(
      expect.arrayContaining(['src/domain/ledger/pricing.ts', 'src/domain/channels/channel-state.ts']),
    );
    const seen = new Set([sourcesHash(folder)]);
    for (const file of [...imported, 'console/index.html', 'package-lock.json']) {
      const before = seen.size;
      appendFileSync(join(folder, file), '\n');
      seen.add(sourcesHash(folder));
      expect([file, seen.size]).toEqual([file, before + 1]);
    }
    appendFileSync(join(folder, 'scripts', 'lock.mjs'), '\n');
    expect(seen.has(sourcesHash(folder))).toBe(true);
  });
});
