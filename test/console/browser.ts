import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { withLock } from '../../scripts/lock.mjs';

/** Starts Chromium: the one on the PATH, else the one of the packages, which needs nothing of the system. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: fromPath() ?? (await fromPackages()), args: flags, timeout: 180_000 });
}

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const fromPath = (): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => ['chromium', 'google-chrome'].map((name) => join(folder, name)))
    .find((file) => existsSync(file));

async function fromPackages(): Promise<string> {
  // With this variable the package also unpacks the libraries that its Chromium needs, as it does on AWS Lambda.
  process.env['AWS_LAMBDA_JS_RUNTIME'] ??= 'nodejs24.x';
  const { default: packaged } = await import('@sparticuz/chromium');
  // It takes a file that another process is still writing for a whole one.
  return withLock(join(tmpdir(), 'tollgate-chromium.lock'), () => packaged.executablePath());
}
