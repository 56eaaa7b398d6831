import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { addChannel } from '../../services/channels/add-channel.ts';
import { OperatorError, UnknownToOperator } from '../../services/operator-error.ts';
import { setChannelEnabled } from '../../services/channels/set-channel-enabled.ts';
import { setChannel } from '../../services/channels/set-channel.ts';
import { testChannel, type ChannelTest } from '../../services/channels/test-channel.ts';
import { listModels } from '../../db/catalog/models.ts';
import {
  listChannelStates,
  type ChannelReason,
  type ChannelState,
  type CredentialState,
  type LimitState,
} from '../../db/channels/channel-settings.ts';
import type { Deps } from '../../deps.ts';
import { channelStateWords } from '../../domain/channels/channel-state.ts';
import { ChannelSchema, ChannelSettings, SwitchedChannel, TestedChannel } from '../schemas/channels.ts';
import { group, option, readFrom, action } from '../define-action.ts';
import { baseUrl, channelName, credential, credentialHelp, families, family, sendable } from '../channel-input.ts';
import { intFrom, nameList, onOff, shortText, smallCount } from '../input.ts';
import { wholeListInput } from '../list-input.ts';
import { oneLine, factText, time } from '../plain-text.ts';
import { factsReport, jsonRow, listReport, type Report } from '../report.ts';
import { sortColumnsOf, wholeList } from '../whole-list.ts';
import { historyAction } from './channel-history.ts';
import { probeAction } from './probe-provider.ts';
import { freeCall, verifyAction } from './verify-channel.ts';

/** `tollgate channels …`: the configured upstream providers. */
export const channelActions = group('the configured upstream providers', () => ({
  list,
  show,
  probe: probeAction,
  add,
  set,
  test,
  verify: verifyAction,
  history: historyAction,
  enable: setEnabled(true, 'let a channel serve new requests'),
  disable: setEnabled(false, 'give a channel no new requests; accepted jobs continue'),
}));

const list = action({
  summary: 'list channels by priority, with the state of each and the reason for it',
  input: wholeListInput(sortColumnsOf(ChannelSchema), 'by priority'),
  route: { method: 'GET', path: '/channels', role: 'viewer' },
  answer: listOf(ChannelSchema),
  needs: 'database',
  async run({ db }, order) {
    const rows = (await listChannelStates(db)).map(shownChannel);
    return listReport(
      wholeList(rows, { ...order, timeOf: ({ createdAt }) => createdAt, toDocument: jsonRow }),
      channelLine,
      { list: 'channels', nothing: 'There are no channels.', toDocument: jsonRow },
    );
  },
});

const shownChannel = (row: ChannelState) => ({
  ...row,
  state: stateOf(row),
  credentials: row.credentials.map(credentialOf),
  limits: limitsOf(row.limits),
});

const channelLine = ({ name, reasons, credentials, limits, ...row }: ReturnType<typeof shownChannel>) => ({
  name,
  ...jsonRow(row),
  created_at: time(row.createdAt),
  groups: row.groups.join(','),
  enabled: row.enabled ? 'yes' : 'no',
  list_check: row.listCheck ? 'on' : 'off',
  credentials: credentials.length === 1 ? '1' : credentials.map(credentialText).join('; '),
  limits: limitsText(limits),
  state: [channelStateWords[row.state], ...reasons.map(reasonText)].join('; '),
});

const channel = shortText.describe('name or id of the channel');

const show = action({
  summary: 'show a channel with its state, the reason for it, its credentials and its limits',
  input: { channel },
  route: { method: 'GET', path: '/channels/:channel', role: 'viewer', resource: 'channel' },
  answer: ChannelSchema,
  refusals: ['not_found'],
  needs: 'database',
  async run({ db }, { channel: named }) {
    const [row] = await listChannelStates(db, named);
    if (!row) throw new UnknownToOperator(`There is no channel ${named}.`);
    const shown = shownChannel(row);
    return { document: jsonRow(shown), text: factText(channelLine(shown)) };
  },
});

/** The most serious state of a channel. `open` means that its circuit breaker is tripped for some model: `reasons` names it. */
function stateOf({ enabled, reasons }: ChannelState): 'ready' | 'disabled' | ChannelReason['kind'] {
  if (!enabled) return 'disabled';
  return stateOrder.find((kind) => reasons.some((reason) => reason.kind === kind)) ?? 'ready';
}

const stateOrder = ['resting', 'open', 'alarm', 'not_drawn', 'half_open'] as const;

function reasonText({ kind, model, reason, since, until, failures, opens }: ChannelReason): string {
  const parts = [
    `${channelStateWords[kind]} for ${model === '*' ? 'all models' : model}`,
    since === null ? '' : `since ${time(since) ?? ''}`,
    until === null ? '' : `until ${time(until) ?? ''}`,
    kind === 'open' || kind === 'half_open' ? `tripped ${opens} times, ${failures} failures since` : '',
    reason === null ? '' : `(${reason})`,
  ];
  return parts.filter(Boolean).join(' ');
}

/** `not_drawn`: the limit that it is at, and `until` when it may be called again. */
function limitsOf({ used, wait, rpm, tpm, parallel }: LimitState) {
  const limits = { rpm, tpm, parallel };
  const atLimit = limitNames.find((name) => limits[name] !== null && used[name] >= limits[name]) ?? null;
  const until = wait > 0 ? Math.floor(Date.now() / 1_000) + wait : null;
  return { ...limits, used, not_drawn: wait > 0 ? atLimit : null, until };
}

const limitNames = ['rpm', 'tpm', 'parallel'] as const;

/** Such as `60 of 60 rpm, not drawn until …; 1 of 4 parallel`. */
function limitsText({ used, not_drawn: full, until, ...limits }: ReturnType<typeof limitsOf>): string {
  const parts = limitNames.flatMap((name) => {
    if (limits[name] === null) return [];
    const at = full === name ? `, not drawn until ${time(until) ?? ''}` : '';
    return [`${used[name]} of ${limits[name]} ${name}${at}`];
  });
  return parts.length === 0 ? '-' : parts.join('; ');
}

const credentialOf = ({ alarm, ...credential }: CredentialState) => ({
  ...credential,
  limits: limitsOf(credential.limits),
  state: credential.until !== null ? ('resting' as const) : alarm === null ? ('ready' as const) : ('alarm' as const),
  reason: credential.reason ?? alarm,
});

function credentialText({ id, last4, state, until, reason }: ReturnType<typeof credentialOf>): string {
  const why = reason === null ? '' : ` (${reason})`;
  return `${last4 === null ? id : `…${last4}`} ${channelStateWords[state]}${until === null ? '' : ` until ${time(until) ?? ''}`}${why}`;
}

const smallNumber = intFrom(0, 10_000);

const listCheckHelp = "on: a model that the provider's model list lacks is not drawn; off: the list decides nothing";

const add = action({
  summary: 'add a channel, which serves requests immediately',
  input: {
    name: option('<name>', channelName).describe('name for operators; clients never see it'),
    adapter: option('<family>', family).describe(`provider family: ${families.join(', ')}`),
    baseUrl: option('<url>', baseUrl).describe('URL that the paths of the adapter are appended to'),
    credential: readFrom('stdin', option('<secret>', credential)).describe(credentialHelp),
    groups: option('<names>', nameList).describe('serve the models in these groups of the catalog, as a,b'),
    priority: option('<number>', smallNumber.default(1)).describe('lower numbers are tried first (default: 1)'),
    weight: option('<number>', smallNumber.default(1)).describe(
      'share among channels of one priority; 0 is never drawn (default: 1)',
    ),
    listCheck: option('<on|off>', onOff.default(true)).describe(`${listCheckHelp} (default: on)`),
  },
  example: {
    name: 'openai-main',
    adapter: 'openai',
    base_url: 'https://api.openai.com/v1',
    credential: 'sk-proj-example',
    groups: ['default'],
  },
  route: { method: 'POST', path: '/channels', role: 'owner' },
  answer: ChannelSettings,
  refusals: ['action_refused'],
  needs: 'secrets',
  async run(deps, input, actor) {
    const { channelId } = await addChannel(deps, { ...input, credential: sendable(input.credential), actor });
    return rowReport(deps, `Added ${input.name}.`, channelId, input);
  },
});

/** A limit; `none` and 0 clear it. */
const limit = (what: string) =>
  option(
    '<number|none>',
    z.union([z.literal(['none', null, '0', 0]).transform(() => null), smallCount]).exactOptional(),
  ).describe(`the most ${what}; the channel is skipped at its limit; none removes it`);

const set = action({
  summary: 'change a channel; a new credential or URL also resets its health',
  input: {
    channel,
    name: option('<name>', channelName.exactOptional()).describe('name for operators'),
    adapter: option('<family>', family.exactOptional()).describe(`provider family: ${families.join(', ')}`),
    baseUrl: option('<url>', baseUrl.exactOptional()).describe('URL that the paths of the adapter are appended to'),
    credential: readFrom('stdin', option('<secret>', credential.exactOptional())).describe(
      `replaces the first credential: ${credentialHelp}`,
    ),
    credentialAdd: readFrom('stdin', option('<secret>', credential.exactOptional())).describe(
      'one more credential of the same provider, drawn in turn with the others; - reads it from stdin',
    ),
    credentialRemove: option('<credential>', shortText.exactOptional()).describe(
      'removes the credential with this id or these last characters; its running jobs are not polled any more',
    ),
    rpm: limit('requests in a minute'),
    tpm: limit('tokens in a minute, of chats'),
    parallel: limit('calls and jobs at the same time'),
    limitCredential: option('<credential>', shortText.exactOptional()).describe(
      'the three limits are of this credential, by its id or last characters, or of `all`; without it, of the channel',
    ),
    groups: option('<names>', nameList.exactOptional()).describe('serve the models in these groups only, as a,b'),
    priority: option('<number>', smallNumber.exactOptional()).describe('lower numbers are tried first'),
    weight: option('<number>', smallNumber.exactOptional()).describe(
      'share among channels of one priority; 0 is never drawn',
    ),
    listCheck: option('<on|off>', onOff.exactOptional()).describe(listCheckHelp),
  },
  example: { priority: 2, weight: 10 },
  route: {
    method: 'PATCH',
    path: '/channels/:channel',
    role: 'operator',
    resource: 'channel',
    ownerInput: ['credential', 'credentialAdd', 'credentialRemove', 'baseUrl', 'adapter'],
  },
  answer: ChannelSettings,
  refusals: ['not_found', 'action_refused', 'version_conflict'],
  needs: 'secrets',
  async run(
    deps,
    { channel: named, credential: key, credentialAdd, credentialRemove, limitCredential, ...fields },
    actor,
  ) {
    const { rpm, tpm, parallel, ...settings } = fields;
    const limits = {
      ...(rpm !== undefined && { rpm }),
      ...(tpm !== undefined && { tpm }),
      ...(parallel !== undefined && { parallel }),
    };
    const hasLimits = Object.keys(limits).length > 0;
    if (limitCredential !== undefined && !hasLimits)
      throw new OperatorError('Name the limits of the credential: --rpm, --tpm or --parallel.');
    const credentialLimit = limitCredential === undefined ? undefined : { named: limitCredential, limits };
    const plain = { ...settings, ...(limitCredential === undefined && limits) };
    const changes = { ...plain, ...(key !== undefined && { credential: sendable(key) }) };
    const added = credentialAdd === undefined ? undefined : sendable(credentialAdd);
    const set = await setChannel(deps, {
      channel: named,
      changes,
      credentialAdd: added,
      credentialRemove,
      credentialLimit,
      actor,
    });
    const parts = [
      set.credentialChanged ? ', including its credential' : '',
      set.credentialId === null ? '' : `, with the new credential ${set.credentialId}`,
      credentialRemove === undefined ? '' : ', without the removed credential',
    ];
    const report = await rowReport(deps, `Changed ${set.channel.name}${parts.join('')}.`, set.channelId, set.channel);
    if (set.credentialId === null) return report;
    return { ...report, document: { ...report.document, credential_id: set.credentialId } };
  },
});

type ReportedChannel = Omit<Parameters<typeof addChannel>[1], 'credential' | 'actor'>;

/** Reports the channel without its credential. */
async function rowReport(
  { db }: Pick<Deps, 'db'>,
  sentence: string,
  channelId: string,
  { name, adapter, baseUrl: base_url, groups, priority, weight, listCheck: list_check = true }: ReportedChannel,
): Promise<Report<z.input<typeof ChannelSettings>>> {
  const modelGroups = (await listModels(db)).flatMap((entry) => entry.private.groups);
  const idle = groups.filter((group) => !modelGroups.includes(group));
  const about = { channel_id: channelId, name, adapter, base_url, groups, priority, weight, list_check };
  return factsReport(sentence, about, {
    shown: { groups: groups.join(',') },
    warnings: idle.length === 0 ? [] : [`No model of the catalog is in ${idle.join(', ')}.`],
  });
}

const test = action({
  summary: 'call a provider in a way that costs nothing; exits 1 unless the call succeeds',
  input: { channel },
  route: { method: 'POST', path: '/channels/:channel/test', role: 'operator' },
  answer: TestedChannel,
  refusals: ['not_found', 'action_refused'],
  needs: 'upstreams',
  async run(deps, { channel: named }) {
    const tested = await testChannel(deps, named);
    const { channelId, name, adapter } = tested;
    const call = freeCall(tested);
    return {
      document: { channel_id: channelId, name, adapter, ...call },
      text: oneLine(testText(tested)),
      refused: !call.ok,
    };
  },
});

function testText({ name, adapter, answer, tookMs }: ChannelTest): string {
  if (answer.kind === 'ok') return `${name} answers and accepts the credential (${tookMs} ms).`;
  if (answer.kind === 'not_offered')
    return `The adapter ${adapter} has no call that costs nothing, so ${name} was not tested.`;
  const status = answer.status === undefined ? '' : `, status ${answer.status}`;
  return `${name} failed: ${answer.errorClass}${status}. ${answer.detail}`;
}

const setEnabled = (enabled: boolean, summary: string) =>
  action({
    summary,
    input: { channel },
    route: {
      method: 'POST',
      path: `/channels/:channel/${enabled ? 'enable' : 'disable'}`,
      role: 'operator',
      resource: 'channel',
    },
    answer: SwitchedChannel,
    refusals: ['not_found', 'version_conflict'],
    needs: 'database',
    async run(deps, { channel: named }, actor) {
      const switched = await setChannelEnabled(deps, { channel: named, enabled, actor });
      const name = oneLine(switched.name);
      const word = enabled ? 'enabled' : 'disabled';
      return {
        document: jsonRow(switched),
        text: switched.changed ? `${name} is now ${word}.` : `${name} is already ${word}. Nothing changed.`,
      };
    },
  });
