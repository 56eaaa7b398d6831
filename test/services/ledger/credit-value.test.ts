import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFormerBilling } from '../../../src/services/projects/former-billing.ts';
import { readCreditValue } from '../../../src/db/ledger/credit-value.ts';
import { openBook, rowsOf } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { projectFolder } from '../../support/program.ts';
import { testConfig } from '../../support/test-config.ts';
import { goBack, spend } from '../imports/way-back.ts';

const dump = join(projectFolder, 'test/services/imports/fixtures/litellm/litellm.sql.gz');

let home: TestHome;
beforeAll(async () => {
  home = await createTestHome({ CREDIT_VALUE_MICRO_USD: '10000' });
});
afterAll(() => home?.drop());

const { done } = commandLine(() => ({ ...home.settings, TEAM_ANTHROPIC_KEY: 'sk-ant-team' }));

describe('the value of a credit that is set and that `migrate` has not stored', () => {
  it('is what a key has left, for clients of other gateways', async () => {
    expect(await readCreditValue(home.db)).toBe(1);
    const { keyId } = await openBook(home.db, { credits: 250 });
    const billing = await readFormerBilling({ db: home.db, config: testConfig(home.settings) }, keyId);
    expect(billing).toMatchObject({ leftUsd: 2.5 });
  });

  it('makes credits of the money of an import, and money of what was spent since', async () => {
    await done('import', 'litellm', '--from', dump);
    const balance = `select a.balance from credit_account a join project p on p.id = a.project_id where p.name = 'Ann'`;
    expect(await rowsOf(home.db, balance)).toEqual([{ balance: 990 }]);
    await spend(home.db, { source: 'litellm', project: 'Search', key: 'team', credits: 250 });
    const files: string[] = [];
    const target = { from: dump, run: (statements: string) => Promise.resolve(void files.push(statements)) };
    await goBack(target, (folder) => done('import', 'litellm', '--from', dump, '--spent', folder));
    expect(files.join('\n')).toContain('set spend = spend + 2.5');
  });
});
