import { readFileSync } from 'node:fs';
import type { CannedReply } from './reply-server.ts';

/** Reads the saved documents of one family by their names. */
export const savedJson =
  (family: string) =>
  (name: string): unknown =>
    JSON.parse(readFileSync(new URL(`./fixtures/${family}/${name}.json`, import.meta.url), 'utf8'));

/** The same for documents that are whole replies with a status. */
export const savedReplies = (family: string) => (name: string) => savedJson(family)(name) as CannedReply;
