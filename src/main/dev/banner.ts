export interface BannerFacts {
  baseUrl: string;
  apiKey: string;
  temporalAddress: string;
  temporalUiUrl: string;
  sandboxUrl: string;
  /** Channels for the keys in the environment; they are asked before the sandbox. */
  providers: readonly { channel: string; variable: string; enabled: boolean }[];
  home: string;
  /** Sentences about ports that were taken. */
  notes: readonly string[];
}

/** What `npm start` says at the end: where everything is, and a first image to try by copy and paste. */
export function banner(facts: BannerFacts): string {
  const { baseUrl, apiKey, temporalAddress, temporalUiUrl, sandboxUrl, providers, home, notes } = facts;
  const firstAsked = providers.map(
    ({ channel, variable, enabled }) =>
      `\n    provider      ${channel}   (by ${variable}; ${enabled ? 'asked before the sandbox, and paid' : 'disabled by an operator'})`,
  );
  return `
  Tollgate is ready.

    API           ${baseUrl}
    demo key      ${apiKey}
    Temporal UI   ${temporalUiUrl === '' ? `(that of ${temporalAddress})` : temporalUiUrl}
    sandbox       ${sandboxUrl}   (the upstream that answers every model here)${firstAsked.join('')}
    state, logs   ${home}
${notes.map((note) => `\n    ${note}`).join('')}${notes.length > 0 ? '\n' : ''}
  Create an image:

    curl -s ${baseUrl}/api/v1/images/generate \\
      -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\
      -d '{"model":"${imageModel}","prompt":"a red fox in the snow"}'

  Poll it, with the task_id of the answer; when it has succeeded, fetch output[0].url:

    curl -s ${baseUrl}/api/v1/tasks/TASK_ID -H 'Authorization: Bearer ${apiKey}'
    curl -s -o fox.png "OUTPUT_URL"

  Ctrl-C stops everything.
`;
}

const imageModel = 'aurora-image-1';
