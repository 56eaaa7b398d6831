import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a program finds the gateway, and the folder that is its home. */
export interface Place {
  baseUrl: string;
  apiKey: string;
  home: string;
  model: string;
  prompt: string;
}

/** A program that people use with a base URL and a key, pinned to its newest version. */
export interface Program {
  name: string;
  package: { registry: 'npm' | 'pypi'; name: string; version: string; bin: string };
  /** The program's tool that runs a command of the shell, and its arguments. Null: the program offers no tools. */
  tool: { name: string; args: object } | null;
  /** How it is set up and called; docs/CLIENTS.md says the same to people. */
  setUp(place: Place): { env: Record<string, string>; args: string[] };
  /** The model that it asks for by itself; null if it has none. */
  defaultModel: string | null;
}

const shell = { command: 'echo from-the-tool', description: 'says something' };

const write = (folder: string, file: string, text: string): void => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), text);
};

export const programs: readonly Program[] = [
  {
    name: 'Claude Code',
    package: { registry: 'npm', name: '@anthropic-ai/claude-code', version: '2.1.332', bin: 'claude' },
    tool: { name: 'Bash', args: shell },
    setUp: ({ baseUrl, apiKey, model, prompt }) => ({
      env: { ANTHROPIC_BASE_URL: baseUrl, ANTHROPIC_API_KEY: apiKey, DISABLE_AUTOUPDATER: '1' },
      args: ['-p', prompt, '--allowedTools', 'Bash', ...(model === '' ? [] : ['--model', model])],
    }),
    defaultModel: '',
  },
  {
    name: 'opencode',
    package: { registry: 'npm', name: 'opencode-ai', version: '1.18.33', bin: 'opencode' },
    tool: { name: 'bash', args: shell },
    setUp: ({ baseUrl, apiKey, model, prompt, home }) => {
      const options = { baseURL: `${baseUrl}/v1`, apiKey };
      const provider = { npm: '@ai-sdk/openai-compatible', name: 'Tollgate', options, models: { [model]: {} } };
      write(home, 'opencode.json', JSON.stringify({ provider: { tollgate: provider } }));
      return {
        env: { OPENCODE_CONFIG: join(home, 'opencode.json') },
        // It puts a word with a blank into quotation marks, which would hide the script.
        args: ['run', '-m', `tollgate/${model}`, ...prompt.split(' ')],
      };
    },
    defaultModel: null,
  },
  {
    name: 'Gemini CLI',
    package: { registry: 'npm', name: '@google/gemini-cli', version: '0.61.0', bin: 'gemini' },
    tool: { name: 'run_shell_command', args: shell },
    setUp: ({ baseUrl, apiKey, model, prompt, home }) => {
      const settings = { security: { auth: { selectedType: 'gemini-api-key' } } };
      write(join(home, '.gemini'), 'settings.json', JSON.stringify(settings));
      return {
        env: { GEMINI_API_KEY: apiKey, GOOGLE_GEMINI_BASE_URL: baseUrl },
        args: ['--skip-trust', '-m', model, '-p', prompt, '--yolo'],
      };
    },
    defaultModel: null,
  },
  {
    name: 'aider',
    package: { registry: 'pypi', name: 'aider-chat', version: '0.86.2', bin: 'aider' },
    tool: null,
    setUp: ({ baseUrl, apiKey, model, prompt }) => ({
      env: { OPENAI_API_BASE: `${baseUrl}/v1`, OPENAI_API_KEY: apiKey },
      args: [
        ...['--model', `openai/${model}`, '--message', prompt, '--yes', '--no-git', '--no-check-update'],
        ...['--no-show-model-warnings', '--no-analytics'],
      ],
    }),
    defaultModel: null,
  },
];
