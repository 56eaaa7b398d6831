import { join } from 'node:path';
import { projectFolder } from '../../support/program.ts';
import { z } from 'zod';

export const shipped = join(projectFolder, 'catalog');

export interface ProcessOutput {
  code: number;
  stdout: string;
  stderr: string;
}

export const rows = <T>(row: z.ZodType<T>) => z.strictObject({ data: z.array(row) });

export const Refusal = z.strictObject({ error: z.strictObject({ message: z.string().min(1) }) });
