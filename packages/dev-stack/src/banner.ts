import type { DevFacts } from './dev-home.ts';

interface BannerNotes {
  /** What the demo project has, with its worth. */
  credits: string;
  /** Channels for the provider keys in the environment. They are tried before the sandbox. */
  providers: readonly { channel: string; variable: string; enabled: boolean }[];
  home: string;
  /** Sentences about ports that were taken and replaced. */
  notes: readonly string[];
}

/** The last output of `npm start`: every address, and commands for a first image. */
export function banner(facts: DevFacts, { credits, providers, home, notes }: BannerNotes): string {
  const { base_url: baseUrl, api_key: apiKey, temporal_ui_url: temporalUiUrl } = facts;
  const providerLines = providers.map(
    ({ channel, variable, enabled }) =>
      `\n    provider      ${channel}   (from ${variable}; ${enabled ? 'tried before the sandbox, costs real money' : 'disabled by an operator'})`,
  );
  return `
  Tollgate is ready.

    API           ${baseUrl}
    demo key      ${apiKey}
    its credits   ${credits}
    console       ${consoleAddress(facts)}
    Temporal UI   ${temporalUiUrl === '' ? `(of the Temporal server at ${facts.temporal_address})` : temporalUiUrl}
    sandbox       ${facts.sandbox_url}   (the provider that serves every model here)${providerLines.join('')}
    state, logs   ${home}
${notes.map((note) => `\n    ${note}`).join('')}${notes.length > 0 ? '\n' : ''}
  Create an image:

    curl -s ${baseUrl}/api/v1/images/generate \\
      -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\
      -d '{"model":"${imageModel}","prompt":"a red fox in the snow"}'

  Poll it by the task_id of the answer. When it has succeeded, fetch output[0].url:

    curl -s ${baseUrl}/api/v1/tasks/TASK_ID -H 'Authorization: Bearer ${apiKey}'
    curl -s -o fox.png "OUTPUT_URL"

  Ctrl-C stops everything.
`;
}

/** The console at its playground. On this machine the address signs in: browsers keep what follows the `#` to themselves. */
function consoleAddress({ console_url: url, admin_token: token }: DevFacts): string {
  const isLoopback = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
  return isLoopback ? `${url}/playground#token=${token}` : `${url}   (sign in with ${token})`;
}

const imageModel = 'aurora-image-1';
