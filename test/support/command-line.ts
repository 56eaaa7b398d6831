import { expect } from '@jest/globals';
import { z } from 'zod';
import { adminPrefix } from '../../src/http/admin/admin-prefix.ts';
import { cli } from '../../src/main/cli.ts';
import { reportType } from '../../src/admin/report.ts';
import { allActions } from '../../src/admin/table.ts';
import { undocumented } from './undocumented.ts';

/** The exit code of a command and the JSON document that it printed. */
export interface CommandResult {
  code: number;
  printed: Record<string, unknown>;
}

/**
 * Runs commands with `--json` in this process, which is faster than a new one. Reads the settings at each call. What a command prints is held
 * to the OpenAPI document of the admin API, as its answers are.
 */
export function commandLine(settings: () => Record<string, string>) {
  const tollgate = async (...args: string[]): Promise<CommandResult> => {
    const written: string[] = [];
    const code = await cli([...args, '--json'], settings(), (text) => written.push(text));
    const printed = z.record(z.string(), z.unknown()).parse(JSON.parse(written.join('')));
    if (!('error' in printed)) expect(undocumentedIn(args, printed)).toBeNull();
    return { code, printed };
  };
  /** Runs a command that must succeed and returns its document. */
  const done = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { code, printed } = await tollgate(...args);
    expect({ code, printed }).toEqual({ code: 0, printed });
    return printed;
  };
  /** Runs a command that must be refused and returns its error message. */
  const refused = async (...args: string[]): Promise<string> => {
    const { code, printed } = await tollgate(...args);
    expect(code).toBe(1);
    return z.object({ error: z.object({ message: z.string() }) }).parse(printed).error.message;
  };
  return { tollgate, done, refused };
}

/** What `undocumented` says of the document of a command, as if its report were an answer of the action's route. */
function undocumentedIn(args: readonly string[], document: CommandResult['printed']): string | null {
  const found = allActions().find(({ name }) => name.split(' ').every((word, index) => args[index] === word));
  if (!found || 'local' in found.action.route) return null;
  const { method, path } = found.action.route;
  // `catalog show` without a model prints the list, which another route answers.
  const isWithoutModel = found.name === 'catalog show' && (args[2] ?? '--').startsWith('--');
  const filled = isWithoutModel ? '/catalog' : path.replace(/:\w+/g, 'some');
  return undocumented({
    method,
    url: `http://localhost${adminPrefix}${filled}`,
    status: 200,
    headers: new Headers({ 'content-type': reportType }),
    text: JSON.stringify({ document, text: '', refused: false }),
  });
}
