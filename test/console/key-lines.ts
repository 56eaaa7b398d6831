import { expect } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeBinary, projectFolder } from '../support/program.ts';
import { runPythonLines } from '../sdk/python-client.ts';
import type { Visit } from './visit.ts';

/** Gives the key of the open dialog two models from the list, after one that the catalog lacks was refused. */
export async function chooseModels({ dialog, page }: Visit): Promise<void> {
  const models = dialog.getByRole('textbox', { name: 'Models' }).or(dialog.getByRole('combobox', { name: 'Models' }));
  await models.first().fill('gpt-99');
  await page.keyboard.press('Enter');
  await dialog.getByText('The catalog has no model gpt-99').waitFor();
  expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
  await page.keyboard.press('Backspace');
  for (const model of ['gpt-5-mini', 'aurora-image-1']) {
    await models.first().fill(model);
    await page.getByRole('option', { name: model, exact: true }).click();
  }
  await page.keyboard.press('Escape');
}

/** Runs the lines that the open dialog shows for a program, as a person pastes them. */
export async function expectLinesToWork({ dialog }: Visit, name: string): Promise<void> {
  await dialog.getByRole('tab', { name }).click();
  const code = await dialog.getByRole('region', { name: `Code for ${name}` }).innerText();
  const isShell = code.includes('curl ');
  const printed = await (isShell
    ? run('bash', ['-c', code.replaceAll('curl ', 'curl -sS --fail-with-body ')])
    : name.endsWith('Python')
      ? runPythonLines(code)
      : runScript(code));
  expect({ name, printed }).toEqual({ name, printed: expect.stringMatching(isShell ? /^\{.*\}$/s : /\S/) });
}

/** In a folder of the project, where the packages of the SDKs are found. */
async function runScript(code: string): Promise<string> {
  const folder = mkdtempSync(join(projectFolder, 'node_modules', '.cache', 'key-lines-'));
  try {
    const file = join(folder, 'lines.mjs');
    writeFileSync(file, code);
    return await run(nodeBinary, [file]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const run = (program: string, args: string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(program, args, { timeout: 120_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}\n${stderr}`));
      else resolve(stdout.trim());
    });
  });
