import type { ChannelTest } from '../../services/channels/test-channel.ts';
import type { LiveCheck, VerifiedMapping } from '../../services/channels/verify/verify-channel.ts';
import { OperatorError } from '../../services/operator-error.ts';
import { VerifiedChannel } from '../schemas/channels.ts';
import { flag, option, action } from '../define-action.ts';
import { intFrom, shortText } from '../input.ts';
import { oneLine, table, usd } from '../plain-text.ts';

/** Clients of the admin API wait for three minutes, and a call that began before this time may be a long chat. */
const remoteSecondsMax = 120;

/** `tollgate channels verify`: shows for each model that a channel serves whether the provider has it and, with `--live`, makes it. */
export const verifyAction = action({
  summary:
    'check the credential and every model of a channel for free; --live makes one real call per model; exits 1 on a failure',
  input: {
    channel: shortText.describe('name or id of the channel'),
    live: flag().describe('make the cheapest real call of each model, which the provider bills'),
    maxCost: option('<micro-usd>', intFrom(0).optional()).describe(
      'with --live: the most that all calls may cost together',
    ),
  },
  route: { method: 'POST', path: '/channels/:channel/verify', role: 'operator' },
  answer: VerifiedChannel,
  refusals: ['not_found', 'action_refused'],
  needs: 'worker',
  async run(deps, { channel, live, maxCost }, actor) {
    if (live && maxCost === undefined) {
      throw new OperatorError(
        '--live makes calls that the provider bills: name the most that they may cost with --max-cost.',
      );
    }
    const { verifyChannel } = await import('../../services/channels/verify/verify-channel.ts');
    const secondsMax = deps.answerWithinSeconds === Infinity ? Infinity : remoteSecondsMax;
    const calls = { maxCost: maxCost ?? 0, actor, secondsMax };
    const verified = await verifyChannel(deps, { channel, live: live ? calls : null });
    const { test, list, mappings, spent, ok } = verified;
    const results = mappings.map(resultOf);
    const counted = (...of: string[]) => results.filter((result) => of.includes(result)).length;
    return {
      document: {
        channel_id: test.channelId,
        name: test.name,
        adapter: test.adapter,
        ok,
        call: freeCall(test),
        list,
        live,
        spent_micro_usd: spent,
        data: mappings.map(({ live: check, ...mapping }) => ({ ...mapping, live: check && liveDocument(check) })),
      },
      text: [
        oneLine(callText(test)),
        listText(list),
        '',
        table(mappings.map(toLine), 'No model of the catalog is served by this channel.'),
        '',
        `${mappings.length} models: ${counted('ok')} ok, ${counted('failed')} failed, ${counted('not_asked', 'not_checked')} not checked.` +
          (live ? ` The calls cost ${usd(spent)} USD.` : ''),
      ].join('\n'),
      refused: !ok,
    };
  },
});

/** What the adapter's free call came to. */
export function freeCall({ answer, tookMs }: ChannelTest) {
  const trouble = answer.kind === 'ok' || answer.kind === 'not_offered' ? null : answer;
  return {
    ok: answer.kind === 'ok',
    offered: answer.kind !== 'not_offered',
    reason: trouble?.errorClass ?? null,
    status: trouble?.status ?? null,
    detail: trouble?.detail ?? null,
    took_ms: tookMs,
  };
}

/** What the free call says about a provider, as a sentence. */
export function callText({ name, adapter, answer, tookMs }: ChannelTest): string {
  if (answer.kind === 'ok') return `${name} answers and accepts the credential (${tookMs} ms).`;
  if (answer.kind === 'not_offered')
    return `The adapter ${adapter} has no call that costs nothing, so only --live tests the credential.`;
  return `${name} failed: ${answer.errorClass}. ${answer.detail}`;
}

/** What its list of models says, as a sentence. */
export const listText = ({ state, names, detail }: { state: string; names: number; detail: string | null }): string =>
  ({
    complete: `The provider lists ${names} models.`,
    incomplete: `The provider lists at least ${names} models, so a missing name means nothing.`,
    not_offered: 'The provider has no model list for this API.',
    failed: `The model list could not be read: ${oneLine(detail ?? '')}`,
  })[state] ?? state;

function liveDocument(check: LiveCheck) {
  if (check.outcome === 'not_asked') return check;
  const { tookMs: took_ms, costMicroUsd: cost_micro_usd, outputs, ...rest } = check;
  return { ...rest, outputs: [...outputs], took_ms, cost_micro_usd };
}

const toLine = ({ model, upstream, listed, drawn, verified, live, ok }: VerifiedMapping) => ({
  model,
  upstream: upstream.join(', '),
  listed: listed === null ? null : listed ? 'yes' : 'no',
  drawn: drawn ? 'yes' : 'no',
  verified: verified && `${verified.on} ${verified.source}`,
  ...(live && liveLine(live)),
  result: resultOf({ ok, live, listed }),
});

/** Without a list and without a call nothing is known about a model. */
const resultOf = ({ ok, live, listed }: Pick<VerifiedMapping, 'ok' | 'live' | 'listed'>): string =>
  ok ? (live?.outcome ?? (listed === null ? 'not_checked' : 'ok')) : 'failed';

function liveLine(check: LiveCheck) {
  if (check.outcome === 'not_asked') return { ms: null, came_back: check.detail, cost_usd: null };
  const { tookMs, usage, outputs, costMicroUsd, reason, detail } = check;
  const made = outputs.map(({ width, height, duration }) =>
    [`${width ?? '?'}x${height ?? '?'}`, ...(duration === null ? [] : [`${duration} s`])].join(' '),
  );
  const tokens = usage && `${usage.input} + ${usage.output} tokens`;
  return {
    ms: tookMs,
    came_back: reason ? `${reason}: ${detail ?? ''}` : (tokens ?? made.join(', ')),
    cost_usd: usd(costMicroUsd),
  };
}
