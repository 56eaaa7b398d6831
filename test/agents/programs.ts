import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a program finds the gateway, and the folder that is its home. */
export interface ProgramInput {
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
  setUp(input: ProgramInput): { env: Record<string, string>; args: string[] };
  /** Whether it asks for a model by itself. Then an empty `model` lets it. */
  hasDefaultModel: boolean;
}

const shell = { command: 'echo from-the-tool', description: 'says something' };

const write = (folder: string, file: string, text: string): void => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), text);
};

/** opencode speaks the API of the provider package that its settings name. */
const opencode = (name: string, npm: string): Program => ({
  name,
  package: { registry: 'npm', name: 'opencode-ai', version: '1.18.33', bin: 'opencode' },
  tool: { name: 'bash', args: shell },
  setUp: ({ baseUrl, apiKey, model, prompt, home }) => {
    const options = { baseURL: `${baseUrl}/v1`, apiKey };
    const provider = { npm, name: 'Tollgate', options, models: { [model]: {} } };
    write(home, 'opencode.json', JSON.stringify({ provider: { tollgate: provider } }));
    return {
      env: { OPENCODE_CONFIG: join(home, 'opencode.json') },
      // It puts a word with a blank into quotation marks, which would hide the script.
      args: ['run', '-m', `tollgate/${model}`, ...prompt.split(' ')],
    };
  },
  hasDefaultModel: false,
});

export const programs: readonly Program[] = [
  {
    name: 'Claude Code',
    package: { registry: 'npm', name: '@anthropic-ai/claude-code', version: '2.1.332', bin: 'claude' },
    tool: { name: 'Bash', args: shell },
    setUp: ({ baseUrl, apiKey, model, prompt }) => ({
      env: { ANTHROPIC_BASE_URL: baseUrl, ANTHROPIC_API_KEY: apiKey, DISABLE_AUTOUPDATER: '1' },
      args: ['-p', prompt, '--allowedTools', 'Bash', ...(model === '' ? [] : ['--model', model])],
    }),
    hasDefaultModel: true,
  },
  {
    name: 'Codex CLI',
    package: { registry: 'npm', name: '@openai/codex', version: '0.169.0', bin: 'codex' },
    tool: { name: 'exec_command', args: { cmd: 'echo from-the-tool' } },
    setUp: ({ baseUrl, apiKey, model, prompt, home }) => {
      write(
        join(home, '.codex'),
        'config.toml',
        [
          'model_provider = "tollgate"',
          '[model_providers.tollgate]',
          'name = "Tollgate"',
          `base_url = "${baseUrl}/v1"`,
          'env_key = "TOLLGATE_KEY"',
          'wire_api = "responses"',
        ].join('\n'),
      );
      return {
        env: { TOLLGATE_KEY: apiKey },
        args: [
          'exec',
          '--skip-git-repo-check',
          '--dangerously-bypass-approvals-and-sandbox',
          ...(model === '' ? [] : ['-m', model]),
          prompt,
        ],
      };
    },
    hasDefaultModel: true,
  },
  opencode('opencode', '@ai-sdk/openai-compatible'),
  opencode('opencode with the provider of Anthropic', '@ai-sdk/anthropic'),
  opencode('opencode with the provider of OpenAI', '@ai-sdk/openai'),
  {
    name: 'Gemini CLI',
    package: { registry: 'npm', name: '@google/gemini-cli', version: '0.61.0', bin: 'gemini' },
    tool: { name: 'run_shell_command', args: shell },
    setUp: ({ baseUrl, apiKey, model, prompt, home }) => {
      const settings = { security: { auth: { selectedType: 'gemini-api-key' } } };
      write(join(home, '.gemini'), 'settings.json', JSON.stringify(settings));
      return {
        env: { GEMINI_API_KEY: apiKey, GOOGLE_GEMINI_BASE_URL: baseUrl },
        args: ['--skip-trust', ...(model === '' ? [] : ['-m', model]), '-p', prompt, '--yolo'],
      };
    },
    hasDefaultModel: true,
  },
  {
    name: 'Qwen Code',
    package: { registry: 'npm', name: '@qwen-code/qwen-code', version: '0.15.10', bin: 'qwen' },
    tool: { name: 'run_shell_command', args: { ...shell, is_background: false } },
    setUp: ({ baseUrl, apiKey, model, prompt }) => ({
      env: { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: `${baseUrl}/v1`, OPENAI_MODEL: model },
      args: ['--auth-type', 'openai', '-p', prompt, '--yolo'],
    }),
    hasDefaultModel: false,
  },
  {
    name: 'llm',
    package: { registry: 'pypi', name: 'llm', version: '0.36', bin: 'llm' },
    tool: { name: 'say', args: { text: 'from-the-tool' } },
    setUp: ({ baseUrl, apiKey, model, prompt, home }) => {
      const entry = {
        model_id: model,
        model_name: model,
        api_base: `${baseUrl}/v1`,
        api_key_name: 'tollgate',
        supports_tools: true,
      };
      write(join(home, 'llm'), 'extra-openai-models.yaml', JSON.stringify([entry]));
      const say = 'def say(text: str) -> str:\n    """Says a text."""\n    return text\n';
      return {
        env: { LLM_USER_PATH: join(home, 'llm'), OPENAI_API_KEY: apiKey },
        args: ['-m', model, '--key', apiKey, '--functions', say, prompt],
      };
    },
    hasDefaultModel: false,
  },
  {
    name: 'aider',
    package: { registry: 'pypi', name: 'aider-chat', version: '0.86.2', bin: 'aider' },
    tool: null,
    setUp: ({ baseUrl, apiKey, model, prompt }) => ({
      env: { OPENAI_API_BASE: `${baseUrl}/v1`, OPENAI_API_KEY: apiKey },
      args: [
        '--model',
        `openai/${model}`,
        '--message',
        prompt,
        '--yes',
        '--no-git',
        '--no-check-update',
        '--no-show-model-warnings',
        '--no-analytics',
      ],
    }),
    hasDefaultModel: false,
  },
];
