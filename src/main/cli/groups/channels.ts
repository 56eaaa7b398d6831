import type { Command } from 'commander';
import { z } from 'zod';
import { adapterFamilies } from '../../../channels/registry.ts';
import { addChannel } from '../../../commands/channels/add-channel.ts';
import { OperatorError } from '../../../commands/operator-error.ts';
import { setChannelEnabled } from '../../../commands/channels/set-channel-enabled.ts';
import { setChannel } from '../../../commands/channels/set-channel.ts';
import { testChannel, type ChannelTest } from '../../../commands/channels/test-channel.ts';
import { listModels } from '../../../db/models.ts';
import { listChannelStates, type ChannelReason, type ChannelState } from '../../../db/channel-settings.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { count, names, shortText } from '../input.ts';
import { jsonRow } from '../json-row.ts';
import { database, databaseAndSecrets, upstreams } from '../operator-deps.ts';
import type { DatabaseDeps, SecretsDeps, UpstreamDeps } from '../operator-deps.ts';
import { clean, facts, table, time } from '../plain-text.ts';
import { readSecret, secretCharsMax } from '../read-secret.ts';

/** `tollgate channels …`: the configured upstream providers. */
export function registerChannels(root: Command, invocation: Invocation): void {
  const group = root.command('channels').description('the configured upstream providers');
  defineCommand(group, 'list', invocation, {
    summary: 'list channels by priority, with the state of each and the reason for it',
    input: z.object({}),
    needs: database,
    run: list,
  });
  defineCommand(group, 'add', invocation, {
    summary: 'add a channel; it serves requests at once',
    usage: (command) =>
      command
        .requiredOption('--name <name>', 'name for operators; clients never see it')
        .requiredOption('--adapter <family>', `provider family: ${families.join(', ')}`)
        .requiredOption('--base-url <url>', 'URL that the paths of the adapter are appended to')
        .requiredOption('--credential <secret>', credentialHelp)
        .requiredOption('--groups <names>', 'serve the models in these groups of the catalog, as a,b')
        .option('--priority <number>', 'lower numbers are tried first (default: 1)')
        .option('--weight <number>', 'share among channels of one priority; 0 is never drawn (default: 1)'),
    input: AddInput,
    needs: databaseAndSecrets,
    run: add,
  });
  defineCommand(group, 'set', invocation, {
    summary: 'change a channel; a new credential or URL also resets its health',
    usage: (command) =>
      command
        .argument('<channel>', 'name or id of the channel')
        .option('--name <name>', 'name for operators')
        .option('--adapter <family>', `provider family: ${families.join(', ')}`)
        .option('--base-url <url>', 'URL that the paths of the adapter are appended to')
        .option('--credential <secret>', credentialHelp)
        .option('--groups <names>', 'serve the models in these groups only, as a,b')
        .option('--priority <number>', 'lower numbers are tried first')
        .option('--weight <number>', 'share among channels of one priority; 0 is never drawn'),
    input: SetInput,
    needs: databaseAndSecrets,
    run: set,
  });
  defineCommand(group, 'test', invocation, {
    summary: 'call a provider in a way that costs nothing; exits 1 unless the call succeeds',
    usage: (command) => command.argument('<channel>', 'name or id of the channel'),
    input: z.object({ channel: shortText }),
    needs: upstreams,
    run: test,
  });
  for (const [name, enabled, summary] of switches) {
    defineCommand(group, name, invocation, {
      summary,
      usage: (command) => command.argument('<channel>', 'name or id of the channel'),
      input: z.object({ channel: shortText }),
      needs: database,
      run: (deps, { channel }, actor) => turn(deps, { channel, enabled, actor }),
    });
  }
}

const switches = [
  ['enable', true, 'let a channel serve new requests'],
  ['disable', false, 'give a channel no new requests; accepted jobs continue'],
] as const;

async function list({ db }: DatabaseDeps): Promise<Report> {
  const rows = (await listChannelStates(db)).map((row) => ({ ...row, state: stateOf(row) }));
  const text = table(
    rows.map((row) => ({
      name: row.name,
      channel_id: row.channelId,
      adapter: row.adapter,
      base_url: row.baseUrl,
      groups: row.groups.join(','),
      priority: row.priority,
      weight: row.weight,
      enabled: row.enabled ? 'yes' : 'no',
      state: [stateWords[row.state], ...row.reasons.map(reasonText)].join('; '),
    })),
    'There are no channels.',
  );
  return { document: { data: rows.map(jsonRow) }, text };
}

/** The most serious state of a channel. `open` means that its circuit breaker is tripped for some model: `reasons` names it. */
function stateOf({ enabled, reasons }: ChannelState): 'ready' | 'disabled' | ChannelReason['kind'] {
  if (!enabled) return 'disabled';
  return stateOrder.find((kind) => reasons.some((reason) => reason.kind === kind)) ?? 'ready';
}

const stateOrder = ['resting', 'open', 'alarm', 'half_open'] as const;

/** The states in the words of docs/ARCHITECTURE.md. Scripts read the older words of `--json`. */
const stateWords = {
  ready: 'available',
  disabled: 'disabled',
  resting: 'cooling down',
  open: 'tripped',
  alarm: 'alarm',
  half_open: 'probing',
} as const;

function reasonText({ kind, model, reason, since, until, failures, opens }: ChannelReason): string {
  const parts = [
    `${stateWords[kind]} for ${model === '*' ? 'all models' : model}`,
    since === null ? '' : `since ${time(since) ?? ''}`,
    until === null ? '' : `until ${time(until) ?? ''}`,
    kind === 'open' || kind === 'half_open' ? `tripped ${opens} times, ${failures} failures since` : '',
    reason === null ? '' : `(${reason})`,
  ];
  return parts.filter(Boolean).join(' ');
}

const families = Object.keys(adapterFamilies);
const credentialHelp = 'API key of the provider; - reads it from stdin and so keeps it out of the shell history';
const smallNumber = count(0, 10_000);

const channelName = shortText
  .refine((name) => /^[\w.:-]{1,63}$/.test(name), 'must be letters, digits and . _ : - only, at most 63')
  .refine((name) => !name.startsWith('chn_'), 'must not start with chn_');
const family = shortText.refine((name) => families.includes(name), `must be one of ${families.join(', ')}`);
const baseUrl = shortText
  .refine(isPlainUrl, 'must be an http or https URL without user, query and fragment')
  .transform((url) => url.replace(/\/+$/, ''));
const credential = z
  .string('is required')
  .trim()
  .min(1, 'must not be empty')
  .max(secretCharsMax, `must have at most ${secretCharsMax} characters`);

function isPlainUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  return (protocol === 'https:' || protocol === 'http:') && `${username}${password}${search}${hash}` === '';
}

const AddInput = z.object({
  name: channelName,
  adapter: family,
  baseUrl,
  credential,
  groups: names,
  priority: smallNumber.default(1),
  weight: smallNumber.default(1),
});

async function add(deps: SecretsDeps, input: z.infer<typeof AddInput>, actor: string): Promise<Report> {
  const { channelId } = await addChannel(deps, { ...input, credential: await credentialOf(input.credential), actor });
  return changed(deps, `Added ${input.name}.`, channelId, input);
}

const SetInput = z.object({
  channel: shortText,
  name: channelName.optional(),
  adapter: family.optional(),
  baseUrl: baseUrl.optional(),
  credential: credential.optional(),
  groups: names.optional(),
  priority: smallNumber.optional(),
  weight: smallNumber.optional(),
});

async function set(deps: SecretsDeps, input: z.infer<typeof SetInput>, actor: string): Promise<Report> {
  const { channel: named, credential: key, ...plain } = input;
  const changes = {
    ...Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)),
    ...(key !== undefined && { credential: await credentialOf(key) }),
  };
  const { channelId, channel, credentialChanged } = await setChannel(deps, { channel: named, changes, actor });
  const sentence = `Changed ${channel.name}${credentialChanged ? ', including its credential' : ''}.`;
  return changed(deps, sentence, channelId, channel);
}

/** `-` means stdin. The credential is sent in a header unchanged, so it must be printable ASCII. */
async function credentialOf(given: string): Promise<string> {
  const secret = given === '-' ? await readSecret('credential') : given;
  if (!/^[\x20-\x7e]+$/.test(secret))
    throw new OperatorError('A credential must be one line of printable ASCII characters.');
  return secret;
}

/** Reports the channel without its credential. */
async function changed(
  { db }: SecretsDeps,
  sentence: string,
  channelId: string,
  { name, adapter, baseUrl: base_url, groups, priority, weight }: Omit<z.infer<typeof AddInput>, 'credential'>,
): Promise<Report> {
  const known = (await listModels(db)).flatMap((entry) => entry.private.groups);
  const idle = groups.filter((group) => !known.includes(group));
  const warnings = idle.length === 0 ? [] : [`No model of the catalog is in ${idle.join(', ')}.`];
  const about = { channel_id: channelId, name, adapter, base_url, groups, priority, weight };
  return {
    document: { ...about, ...(warnings.length > 0 && { warnings }) },
    text: [
      `${clean(sentence)}\n`,
      facts({ ...about, groups: groups.join(',') }),
      ...warnings.map((warning) => `\nWarning: ${clean(warning)}`),
    ].join('\n'),
  };
}

async function test(deps: UpstreamDeps, { channel }: { channel: string }): Promise<Report> {
  const tested = await testChannel(deps, channel);
  const { channelId, name, adapter, answer, tookMs } = tested;
  const trouble = answer.kind === 'ok' || answer.kind === 'not_offered' ? null : answer;
  return {
    document: {
      channel_id: channelId,
      name,
      adapter,
      ok: answer.kind === 'ok',
      offered: answer.kind !== 'not_offered',
      reason: trouble?.errorClass ?? null,
      status: trouble?.status ?? null,
      detail: trouble?.detail ?? null,
      took_ms: tookMs,
    },
    text: clean(testText(tested)),
    refused: answer.kind !== 'ok',
  };
}

function testText({ name, adapter, answer, tookMs }: ChannelTest): string {
  if (answer.kind === 'ok') return `${name} answers and accepts the credential (${tookMs} ms).`;
  if (answer.kind === 'not_offered')
    return `The adapter ${adapter} has no call that costs nothing, so ${name} was not tested.`;
  const status = answer.status === undefined ? '' : `, status ${answer.status}`;
  return `${name} failed: ${answer.errorClass}${status}. ${answer.detail}`;
}

async function turn(deps: DatabaseDeps, given: { channel: string; enabled: boolean; actor: string }): Promise<Report> {
  const { channelId, name, enabled, changed } = await setChannelEnabled(deps, given);
  const word = enabled ? 'enabled' : 'disabled';
  return {
    document: { channel_id: channelId, name, enabled, changed },
    text: changed ? `${clean(name)} is now ${word}.` : `${clean(name)} is already ${word}. Nothing changed.`,
  };
}
