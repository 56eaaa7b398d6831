import { gemini } from './gemini-client.ts';
import type { DialectClient } from './dialect-client.ts';
import { messages } from './messages-client.ts';
import { openaiChat } from './openai-chat-client.ts';
import { responses } from './responses-client.ts';

export const dialects = {
  'chat completions': openaiChat,
  responses,
  messages,
  Gemini: gemini,
} satisfies Record<string, DialectClient>;
export type DialectName = keyof typeof dialects;
export const dialectNames = Object.keys(dialects) as DialectName[];

/** A model of each family of the shipped catalog. */
export const families = {
  'OpenAI-compatible': 'qwen3.8-flash',
  'OpenAI Responses': 'gpt-6-luna',
  Anthropic: 'claude-haiku-5.5',
  Gemini: 'gemini-3.5-flash-lite',
} as const;
export type FamilyName = keyof typeof families;
export const familyNames = Object.keys(families) as FamilyName[];

/** The rows of the matrix. */
export const features = {
  text: 'Text',
  stream: 'Streaming',
  tools: 'Tools over two turns',
  streamedTools: 'Tools over two turns, streamed',
  parallelTools: 'Parallel calls of tools over two turns',
  streamedParallelTools: 'Parallel calls of tools over two turns, streamed',
  forcedTools: 'A tool that must be called',
  allowedTools: 'A choice among some of the tools',
  manyTools: 'More than 128 tools',
  toolPictures: 'Pictures in the results of tools',
  pictures: 'Pictures in the prompt',
  pdfs: 'PDFs in the prompt',
  toolPdfs: 'PDFs in the results of tools',
  textFiles: 'Files of text in the prompt',
  structured: 'Answers by a JSON schema',
  reasoning: 'Reasoning effort, and the thoughts',
  signedThoughts: 'Thoughts or signed calls sent back with the next turn',
  length: 'Ends at the length',
  stop: 'Ends at a stop sequence',
  usage: 'Usage, with cached and thought tokens',
  refusal: "The provider's refusal as an error of the dialect",
} as const;
export type Feature = keyof typeof features;
export const featureNames = Object.keys(features) as Feature[];

/** Where the file stands in the request, by which its refusal names it. */
const filePaths: Record<'pdfs' | 'toolPdfs', Record<DialectName, string>> = {
  pdfs: {
    'chat completions': 'messages.0.content.1',
    responses: 'input.0.content.1',
    messages: 'messages.0.content.1',
    Gemini: 'contents.0.parts.1',
  },
  toolPdfs: {
    'chat completions': 'messages.2.content.1',
    responses: 'input.2.output.1',
    messages: 'messages.2.content.0.content.1',
    Gemini: 'contents.2.parts.0.functionResponse.parts.0',
  },
};

/**
 * What becomes of a feature: it works; it is refused with the name of the field; the answer says that it had no effect; or the dialect
 * (`no field`) or the family (`not there`) has nothing of the kind.
 */
export type Outcome = 'yes' | { refused: string } | 'warning' | 'no field' | 'not there';

/** The outcome of each case. The suite tests every one, and the table of docs/API.md shows them. */
export function outcomeOf(feature: Feature, dialect: DialectName, family: FamilyName): Outcome {
  if (feature === 'stop') {
    if (dialect === 'responses') return 'no field';
    // The provider's Responses API has no stop sequences, and the catalog says so.
    if (family === 'OpenAI Responses') return 'warning';
  }
  // Anthropic's API has no such choice.
  if (feature === 'allowedTools' && dialect === 'messages') return 'no field';
  if (feature === 'manyTools' && family === 'OpenAI Responses') return { refused: 'tools' };
  // No compatible vendor takes PDFs at a price that is known.
  if ((feature === 'pdfs' || feature === 'toolPdfs') && family === 'OpenAI-compatible')
    return { refused: filePaths[feature][dialect] };
  if (feature === 'signedThoughts') {
    if (family === 'OpenAI-compatible') return 'not there';
    if (family !== 'Gemini' && (dialect === 'chat completions' || dialect === 'Gemini')) return 'no field';
  }
  return 'yes';
}
