import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from './config-error.ts';
import { secretNames } from './setting.ts';
// The names are declared where the settings are.
import './server-settings.ts';

type Env = Record<string, string | undefined>;

/** A list of master keys is far smaller. A larger file is not the one that was meant. */
const BYTES_MAX = 65_536;

/**
 * The environment with each secret setting that `NAME_FILE` names read from its file, without the line break at its end. Throws
 * `ConfigError` with one line per file that is missing, empty or too large, and per setting that is given both ways.
 */
export function withSecretFiles(env: Env): Env {
  const resolved: Env = { ...env };
  const problems: string[] = [];
  for (const name of secretNames) {
    const file = `${name}_FILE`;
    const path = env[file];
    delete resolved[file];
    if (path === undefined || path === '') continue;
    const read = readSecretFile(path);
    if (env[name]) problems.push(`${file} and ${name} are both set: set one of them`);
    else if ('problem' in read) problems.push(`${file} ${read.problem}`);
    else resolved[name] = read.text;
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return resolved;
}

function readSecretFile(path: string): { text: string } | { problem: string } {
  try {
    if (statSync(path).size > BYTES_MAX) return { problem: `names a file of more than ${BYTES_MAX} bytes` };
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return text.trim() === '' ? { problem: 'names an empty file' } : { text };
  } catch {
    return { problem: 'must name a file that this process may read' };
  }
}
