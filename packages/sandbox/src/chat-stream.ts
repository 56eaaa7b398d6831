import type { ServerResponse } from 'node:http';
import type { Hit } from './hits.ts';
import type { Behaviour } from './script.ts';

/** How one family writes a streamed answer, as the text of its events. */
export interface StreamWords {
  /** Before the first piece. */
  open: string;
  piece: (text: string, isThought: boolean) => string;
  /** After the last piece: tool calls, the reason and the counts. */
  close: string;
  /** An error in the middle. */
  error: string;
}

/** A streamed answer: its pieces, and what the script does to it. */
export interface StreamedAnswer {
  words: StreamWords;
  /** One token each. */
  pieces: { text: string; isThought: boolean }[];
  script: Pick<Behaviour, 'rate' | 'cut' | 'silent' | 'garble' | 'break'>;
  /** Learns how much was sent and when the reader left. */
  hit: Hit;
}

/** Common words of one token each, four bytes long on average with their space, like running English. */
const lexicon = [
  'the',
  'gate',
  'is',
  'open',
  'and',
  'the',
  'toll',
  'was',
  'paid',
  'at',
  'a',
  'fair',
  'rate',
  'so',
  'we',
  'go',
  'on',
  'up',
];

/** Text of that many tokens. */
export const tokensOfText = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${index === 0 ? '' : ' '}${lexicon[index % lexicon.length]}`);

/** A text in pieces of about one token. */
export const piecesOf = (text: string): string[] => text.match(/[^]{1,4}/gu) ?? [];

/** The shortest time between two writes. Higher rates send several pieces at a time. */
const writeMs = 5;

/** Sends the pieces, at the scripted rate or as fast as the reader takes them. */
export function sendStream(response: ServerResponse, { words, pieces, script, hit }: StreamedAnswer): void {
  const { rate } = script;
  let sent = 0;
  hit.sent = 0;
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  response.write(words.open);
  const began = performance.now();
  const timer = setInterval(pour, rate === undefined ? writeMs : Math.max(writeMs, 1_000 / rate));
  response.once('close', () => {
    clearInterval(timer);
    if (!response.writableFinished) hit.left_at = new Date().toISOString();
  });
  response.on('drain', pour);
  pour();

  function pour(): void {
    const due = rate === undefined ? Infinity : Math.floor(((performance.now() - began) / 1_000) * rate) + 1;
    while (sent < Math.min(pieces.length, due)) {
      if (response.destroyed || response.writableNeedDrain || isBrokenAt(sent)) return;
      const piece = pieces[sent];
      sent += 1;
      hit.sent = sent;
      if (piece) response.write(words.piece(piece.text, piece.isThought));
    }
    if (sent < pieces.length || isBrokenAt(sent)) return;
    clearInterval(timer);
    if (!response.writableEnded) response.end(words.close);
  }

  /** Whether the script ends the stream here, which it then does. */
  function isBrokenAt(count: number): boolean {
    if (count === script.silent) {
      clearInterval(timer);
      return true;
    }
    // No reset, which would discard what the reader's kernel has not handed over yet.
    if (count === script.cut) response.socket?.destroySoon();
    else if (count === script.garble) response.end('data: {"this is no\n\n');
    else if (count === script.break) response.end(words.error);
    else return false;
    clearInterval(timer);
    return true;
  }
}
