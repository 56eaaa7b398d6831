import { readFileSync } from 'node:fs';
import type { CannedReply } from './reply-server.ts';

/** Reads the documents that are saved for one family, by their names. */
export const savedJson =
  (family: string) =>
  (name: string): unknown =>
    JSON.parse(readFileSync(new URL(`./fixtures/${family}/${name}.json`, import.meta.url), 'utf8'));

/** The same, for a family whose documents are whole replies, with their status. */
export const savedReplies = (family: string) => (name: string) => savedJson(family)(name) as CannedReply;
