import type { CacheControl, ChatTool } from '../../../domain/chat/chat.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { nonNullFields } from '../chat-fields.ts';
import type { VendorFieldCollector } from '../reading.ts';

/** One of Anthropic's own tools whose calls the client runs, as a function that every model can call. */
interface ClientTool {
  description: string;
  parameters: JsonObject;
  /** Whether Anthropic's present models take the tool itself. */
  isCurrent: boolean;
}

/**
 * The tool of this type: a shell, an editor of files or a folder of notes
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/text-editor-tool, read 2026-11-29, and the types of `@anthropic-ai/sdk` 1.12.0).
 * It costs its tokens alone. Null for any other type.
 */
export function clientTool(type: string): ClientTool | null {
  const [, name = '', date = ''] = /^(bash|text_editor|memory)_(\d{8})$/.exec(type) ?? [];
  const tool = tools[name];
  return tool ? { ...tool, isCurrent: currentDates[name]?.includes(date) === true } : null;
}

/**
 * Such a tool of a request, which stands at `path`. Anthropic's models know it by its type, others by a description and a schema. `fields` are
 * further ones that only Anthropic is sent.
 */
export function asFunction(
  { kind, name, cache_control: cacheControl, max_characters }: RequestedTool,
  path: string,
  fields: JsonObject | undefined,
  own: VendorFieldCollector,
): ChatTool[] {
  const tool = clientTool(kind);
  if (!tool) return [];
  const { description, parameters, isCurrent } = tool;
  const itself = nonNullFields({ type: isCurrent ? kind : null, max_characters: isCurrent ? max_characters : null });
  // A function says the same, so that nothing is named where it is sent instead.
  const type = own.of(path, itself, { isWithoutEffect: true });
  const vendor = type ? { ...fields, ...type } : fields;
  return [{ name, description, parameters, ...nonNullFields({ cacheControl, vendor }) }];
}

interface RequestedTool {
  kind: string;
  name: string;
  cache_control?: CacheControl | null | undefined;
  max_characters?: number | null | undefined;
}

/** Models refuse the types of earlier ones. */
const currentDates: Readonly<Partial<Record<string, string[]>>> = {
  bash: ['20250124'],
  text_editor: ['20250728'],
  memory: ['20250818'],
};

const textField = (description: string): JsonObject => ({ type: 'string', description });
const numberField = (description: string): JsonObject => ({ type: 'integer', description });

/** What both kinds of files share. */
const fileProperties = {
  path: textField('The path of the file or of the folder.'),
  view_range: {
    type: 'array',
    items: { type: 'integer' },
    description:
      'view: the first and the last line to show. The first line of a file is 1; -1 stands for its last one.',
  },
  file_text: textField('create: the whole content of the file.'),
  old_str: textField(
    'str_replace: the text to replace. It must occur exactly once, with the same white space and indentation.',
  ),
  new_str: textField('str_replace: the text that takes its place. Without it the old text is deleted.'),
  insert_line: numberField(
    'insert: the number of the line after which the text is inserted; 0 for the beginning of the file.',
  ),
  insert_text: textField('insert: the text.'),
};
const command = (...commands: string[]): JsonObject => ({ type: 'string', enum: commands });

const tools: Readonly<Partial<Record<string, Omit<ClientTool, 'isCurrent'>>>> = {
  bash: {
    description:
      'Runs a command in a Bash shell and answers with what it prints. The shell stays open between calls, with its working directory and its environment ' +
      'variables. It has no terminal, so that programs which ask for input do not work in it. Restart it if it no longer answers.',
    parameters: {
      type: 'object',
      properties: {
        command: textField('The command. Required unless the shell is restarted.'),
        restart: { type: 'boolean', description: 'True: the shell is restarted, and no command is run.' },
      },
    },
  },
  text_editor: {
    description:
      'Shows and edits files of text. The command view shows a file with the numbers of its lines, or lists what is in a folder. create writes a new file. ' +
      'str_replace replaces one text of a file by another. insert puts text after a line.',
    parameters: {
      type: 'object',
      properties: { command: command('view', 'create', 'str_replace', 'insert'), ...fileProperties },
      required: ['command', 'path'],
    },
  },
  memory: {
    description:
      'Keeps notes in files of the folder /memories, which stay between conversations. View that folder first. The command view shows a file, or lists what ' +
      'is in a folder. create writes a file. str_replace replaces one text by another. insert puts text after a line. delete and rename take a file or a folder.',
    parameters: {
      type: 'object',
      properties: {
        command: command('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
        ...fileProperties,
        old_path: textField('rename: the present path.'),
        new_path: textField('rename: the new path.'),
      },
      required: ['command'],
    },
  },
};
