import { describe, expect, it } from '@jest/globals';
import type { ChatDelta } from '../../../src/domain/chat/chat-stream.ts';
import type { ChatStreamWriter, StreamAbout } from '../../../src/http/dialects/chat-stream-writer.ts';
import { geminiStream } from '../../../src/http/dialects/gemini/gemini-chat-stream.ts';
import { openaiStream } from '../../../src/http/dialects/openai/openai-chat-stream.ts';

const about: StreamAbout = { id: 'c1', created: 1, model: 'm', requestId: 'req_1', includeUsage: false };
const thoughtPiece = (text: string): ChatDelta => ({ kind: 'reasoning', text });
const textPiece = (text: string): ChatDelta => ({ kind: 'text', text });

/** The dialects whose events may have several pieces, with what holds a thought and a text. `kept`: the characters that are kept for the last event. */
const dialects: { name: string; write: (about: StreamAbout) => ChatStreamWriter; pieces: RegExp[]; kept: number }[] = [
  {
    name: 'Gemini',
    write: geminiStream,
    pieces: [/"text":"([^"]*)","thought":true/g, /"text":"([^"]*)"(?!,"thought")/g],
    kept: 1,
  },
  {
    name: 'chat completions',
    write: openaiStream,
    pieces: [/"reasoning_content":"([^"]*)"/g, /"content":"([^"]*)"/g],
    kept: 0,
  },
];

/** genai for Rust keeps the last thought of an event, and many programs read `parts[0].text`. */
describe.each(dialects)('pieces of $name that arrived together', ({ write, pieces: [thoughts, texts], kept }) => {
  const found = (kind: RegExp | undefined, events: string): unknown[] =>
    [...events.matchAll(kind ?? /(?!)/g)].map(([, text]) => text);

  it('are one thought and one text', () => {
    const events = write(about).pieces(['a', ' b', ' c'].map(thoughtPiece).concat(['d', ' e', ' f'].map(textPiece)));
    expect([found(thoughts, events), found(texts, events)]).toEqual([['a b c'], ['d e f'.slice(0, 5 - kept)]]);
  });

  it('stay apart where a piece of another kind is between them', () => {
    const events = write(about).pieces([thoughtPiece('a'), textPiece('b'), thoughtPiece('c'), textPiece('d')]);
    expect([found(thoughts, events), found(texts, events)]).toEqual([['a', 'c'], ['b', 'd'].slice(0, 2 - kept)]);
  });
});
