import { expect } from '@jest/globals';
import { z } from 'zod';
import { cli } from '../../src/main/cli.ts';

/** What one command came to: its exit code and its one document. */
export interface Said {
  code: number;
  said: Record<string, unknown>;
}

/** The command line by its own entry, without the price of a process. The settings are asked for at each call. */
export function commandLine(settings: () => Record<string, string>) {
  const tollgate = async (...args: string[]): Promise<Said> => {
    const written: string[] = [];
    const code = await cli([...args, '--json'], settings(), (text) => written.push(text));
    return { code, said: z.record(z.string(), z.unknown()).parse(JSON.parse(written.join(''))) };
  };
  /** What a command says that must succeed. */
  const done = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { code, said } = await tollgate(...args);
    expect({ code, said }).toEqual({ code: 0, said });
    return said;
  };
  /** The message of a command that must be refused. */
  const refused = async (...args: string[]): Promise<string> => {
    const { code, said } = await tollgate(...args);
    expect(code).toBe(1);
    return z.object({ error: z.object({ message: z.string() }) }).parse(said).error.message;
  };
  return { tollgate, done, refused };
}
