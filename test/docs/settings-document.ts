import { z } from 'zod';
import { listedSettings } from '../../src/config/load-config.ts';
import { secretNames } from '../../src/config/setting.ts';

/** The groups in the order of the document, with their headings. */
const headings = {
  database: 'PostgreSQL',
  temporal: 'Temporal',
  http: 'HTTP',
  secrets: 'Secrets',
  oidc: 'Sign-in to the console by OIDC',
  keys: 'Limits of new keys',
  egress: 'Outbound requests',
  files: 'Stored files',
  logging: 'Logging',
  traces: 'Traces',
  alarms: 'Alarms',
  worker: 'Worker processes',
  chat: 'Chat',
  imageAnswers: 'Images in answers',
  idempotency: 'Idempotency',
  tasks: 'Media tasks',
  attempts: 'Attempts of media tasks',
  breaker: 'Circuit breaker and cool-downs',
  callbacks: 'Callbacks',
  sweeps: 'Sweeps of the worker',
  scheduledJobs: 'Scheduled jobs',
  retention: 'Retention',
  accounting: 'Accounting',
  catalog: 'Catalog',
  development: 'Development and tests',
};

const introduction = `# Configuration

The environment is read once, when a process starts. The process refuses to start with a missing or malformed value and names the
variable. An empty variable means the default. A name ends in its unit: \`_SECONDS\` (fractions are accepted where the table does
not ask for a whole number), \`_MS\` (milliseconds), \`_DAYS\`, \`_BYTES\`.

A secret may come from a file instead, as orchestrators mount it: \`MASTER_KEYS_FILE=/run/secrets/master_keys\`. The line break at the
end of the file is not part of the secret. A file that is missing or empty is refused, and so is a setting that is given both ways.
This holds for ${[...secretNames].map((name) => `\`${name}\``).join(', ')}.

Providers, buckets and identity providers with a certificate of a private CA are trusted with \`NODE_EXTRA_CA_CERTS=/path/ca.pem\`, which Node.js reads
when a process starts. PostgreSQL's CA is \`sslrootcert\` of \`DATABASE_URL\`, and Temporal's is \`TEMPORAL_TLS_CA_FILE\`.

| A pooler before PostgreSQL | Session mode | Transaction mode                                                   | Statement mode       |
| -------------------------- | ------------ | ------------------------------------------------------------------ | -------------------- |
| PgBouncer 1.21 and newer   | works        | works with \`max_prepared_statements\` above 0                       | refused at the start |
| PgBouncer 1.20 and older   | works        | refused at the start                                               | refused at the start |
| any other                  | works        | works if it follows prepared statements, else refused at the start | refused at the start |

Behind a pooler set \`DATABASE_LISTEN_URL\` to a direct connection. PgBouncer takes \`options\` of a connection with \`ignore_startup_parameters = options\` or not at
all: without them the limits of the role count (\`alter role tollgate set statement_timeout = '3s'\`, \`lock_timeout = '2s'\`,
\`idle_in_transaction_session_timeout = '10s'\`, \`jit = off\`), and a process warns at its start if there is none.

\`npm run docs:configuration\` writes this file from \`src/config\`. Do not edit it by hand.

<!-- prettier-ignore-start -->
`;

/** The text of `docs/CONFIGURATION.md`. */
export function settingsDocument(): string {
  const groups = new Map(Object.entries(headings).map(([group, heading]) => [group, { heading, rows: [''] }]));
  for (const { group, name, schema, purpose } of listedSettings) {
    const section = groups.get(group);
    if (!section) throw new Error(`The group ${group} of settings has no heading.`);
    section.rows.push(row(`\`${name}\``, defaultOf(schema), acceptedBy(schema), purpose));
  }
  const tables = [...groups.values()].map(({ heading, rows: [, ...rows] }) =>
    [
      `## ${heading}`,
      '',
      row('Name', 'Default', 'Accepted', 'What it is for'),
      row('---', '---', '---', '---'),
      ...rows,
    ]
      .map((line) => `${line}\n`)
      .join(''),
  );
  return `${[introduction, ...tables].join('\n')}\n<!-- prettier-ignore-end -->\n`;
}

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`;

const Default = z.union([z.null(), z.boolean(), z.number(), z.string(), z.array(z.union([z.string(), z.number()]))]);

function defaultOf(schema: z.ZodType): string {
  const parsed = schema.pipe(Default).safeParse(undefined);
  if (!parsed.success) return 'required';
  const value = String(parsed.data ?? '');
  return value === '' ? '–' : `\`${value}\``;
}

const Described = z.object({
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});

/** What the schema accepts beyond what the name says. */
function acceptedBy(schema: z.ZodType): string {
  const described = Described.parse(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  const { type, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = described;
  if (described.enum)
    return described.enum
      .filter(Boolean)
      .map((value) => `\`${value}\``)
      .join(', ');
  const bounds =
    maximum < Number.MAX_SAFE_INTEGER ? `${minimum} to ${maximum}` : minimum > 0 ? `at least ${minimum}` : '';
  return [type === 'integer' ? 'whole number' : '', bounds].filter(Boolean).join(', ');
}
