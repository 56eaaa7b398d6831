import { expect } from '@jest/globals';
import { z } from 'zod';
import { cli } from '../../src/main/cli.ts';

/** The exit code of a command and the JSON document that it printed. */
export interface Said {
  code: number;
  said: Record<string, unknown>;
}

/** Runs commands with `--json` in this process, which is faster than a new one. Reads the settings at each call. */
export function commandLine(settings: () => Record<string, string>) {
  const tollgate = async (...args: string[]): Promise<Said> => {
    const written: string[] = [];
    const code = await cli([...args, '--json'], settings(), (text) => written.push(text));
    return { code, said: z.record(z.string(), z.unknown()).parse(JSON.parse(written.join(''))) };
  };
  /** Runs a command that must succeed and returns its document. */
  const done = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { code, said } = await tollgate(...args);
    expect({ code, said }).toEqual({ code: 0, said });
    return said;
  };
  /** Runs a command that must be refused and returns its error message. */
  const refused = async (...args: string[]): Promise<string> => {
    const { code, said } = await tollgate(...args);
    expect(code).toBe(1);
    return z.object({ error: z.object({ message: z.string() }) }).parse(said).error.message;
  };
  return { tollgate, done, refused };
}
