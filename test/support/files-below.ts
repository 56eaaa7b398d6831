import { readdir } from 'node:fs/promises';

/** The names of all files in a folder and in its folders. */
export const filesBelow = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
