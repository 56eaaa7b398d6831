import type { UpstreamChat } from '../../domain/chat/chat.ts';
import { optionalNames } from '../../domain/chat/optional-parameters.ts';
import { computedOnce } from '../../domain/computed-once.ts';
import { isEffort, nearestEffort, wantedEffort, type Effort } from '../../domain/chat/reasoning.ts';
import { isExplicit, noEffect } from '../../domain/chat/unsent-parameters.ts';
import { mustCallTool, type VendorParameter, type VendorRules } from '../../domain/chat/vendor-rules.ts';
import { formatWarnings, withFormat } from './instructed-format.ts';
import { openaiVendors } from './openai-vendors.ts';

/**
 * The request as the vendor of its mapping takes it: only fields that it has, under its names and within its limits. Without a vendor the
 * request itself.
 */
export function forVendor(request: UpstreamChat): UpstreamChat {
  const rules = rulesOf(request);
  return rules === undefined ? withTakenEffort(request) : steps.reduce((taken, step) => step(rules, taken), request);
}

/** What the client should know about what its vendor lacks, in sentences. */
export function vendorWarnings(request: UpstreamChat): string[] {
  const rules = rulesOf(request);
  if (rules === undefined) return effortWarnings(request, withTakenEffort(request));
  const sent = forVendor(request);
  const effort = request.extra.reasoning_effort;
  const sentEffort = sent.extra.reasoning_effort;
  const isLimited = isExplicit(request, 'temperature') && sent.temperature !== request.temperature;
  const unthought = mustNotThink(rules, request) && mustCallTool(request);
  return [
    ...(isLimited ? [`temperature was sent as ${sent.temperature}, the nearest that this model takes.`] : []),
    ...effortWarnings(request, sent),
    ...(isEffort(effort) && effort !== 'none' && sentEffort === undefined && !unthought
      ? [noEffect(['reasoning_effort']) ?? '']
      : []),
    ...(unthought ? ['The model does not think in this answer, because it must call a tool.'] : []),
    ...formatWarnings(rules.formats, request),
    ...(!rules.takes.includes('strict') && request.tools.some(({ strict }) => strict === true)
      ? ['The model is not held to the schemas of its tools (strict).']
      : []),
  ];
}

const rulesOf = ({ traits }: UpstreamChat): VendorRules | undefined =>
  traits?.vendor !== undefined && Object.hasOwn(openaiVendors, traits.vendor)
    ? openaiVendors[traits.vendor]
    : undefined;

const unsent: readonly VendorParameter[] = ['user', 'name', 'stream_options', 'n', ...optionalNames];
const steps: readonly ((rules: VendorRules, request: UpstreamChat) => UpstreamChat)[] = [
  withFurther,
  withNames,
  withinLimits,
  withVendorThoughts,
  ({ formats }, request) => withFormat(formats, request),
  withTools,
];

/** Of the further fields those that the vendor takes, by its table or by the catalog. */
function withFurther({ further }: VendorRules, request: UpstreamChat): UpstreamChat {
  const taken = [...further, ...(request.traits?.pass_through ?? [])];
  return {
    ...request,
    extra: Object.fromEntries(Object.entries(request.extra).filter(([key]) => taken.includes(key))),
  };
}

/** A mapping's own parameters stand. */
function withNames(rules: VendorRules, request: UpstreamChat): UpstreamChat {
  return { ...request, parameters: { ...namesOf(rules), ...request.parameters } };
}

/** How the vendor calls the parameters; null for those that it lacks. Computed once per vendor: 0.01 instead of 0.7 µs a chat (27 November 2026). */
const namesOf = computedOnce(({ takes, names = {} }: VendorRules): NonNullable<UpstreamChat['parameters']> => {
  const lacked = unsent.filter((field) => !takes.includes(field));
  return {
    ...Object.fromEntries(Object.entries(names).map(([field, name]) => [field, { name }])),
    ...Object.fromEntries(lacked.map((field) => [field, null])),
  };
});

function withinLimits({ most, least }: VendorRules, request: UpstreamChat): UpstreamChat {
  const within = (value: number | undefined, key: 'temperature' | 'top_p'): number | undefined =>
    value === undefined ? undefined : Math.max(Math.min(value, most?.[key] ?? Infinity), least?.[key] ?? -Infinity);
  const temperature = within(request.temperature, 'temperature');
  const topP = within(request.topP, 'top_p');
  return {
    ...request,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
  };
}

/** The fields with which clients of vendors switch thoughts on and off. */
const thoughtFields: readonly string[] = ['reasoning_effort', 'thinking', 'enable_thinking', 'thinking_budget'];

/** Whether the model is asked not to think: the client wants it so, or a tool is forced that thoughts exclude. */
const mustNotThink = ({ unthinking, forcedTools }: VendorRules, request: UpstreamChat): boolean =>
  unthinking !== undefined &&
  ((forcedTools === 'unthinking' && mustCallTool(request)) || wantedEffort(request) === 'none');

function withVendorThoughts(rules: VendorRules, request: UpstreamChat): UpstreamChat {
  const others = Object.entries(request.extra).filter(([field]) => !thoughtFields.includes(field));
  if (mustNotThink(rules, request))
    return { ...request, extra: { ...Object.fromEntries(others), ...rules.unthinking } };
  return withTakenEffort(request, rules.efforts);
}

/** The request with the nearest effort that its model takes, by the catalog or else its vendor's table: `none` if it must not think. */
export function withTakenEffort(request: UpstreamChat, ofVendor?: readonly Effort[]): UpstreamChat {
  const efforts = request.traits?.efforts ?? ofVendor;
  const wanted = wantedEffort(request);
  if (!isEffort(wanted) || efforts === undefined) return request;
  const { reasoning_effort: _, ...extra } = request.extra;
  const nearest = nearestEffort(wanted, efforts);
  return { ...request, extra: nearest === undefined ? extra : { ...extra, reasoning_effort: nearest } };
}

function effortWarnings(request: UpstreamChat, { extra: { reasoning_effort: sent } }: UpstreamChat): string[] {
  // An effort that the catalog sets replaces the one that is sent.
  const isSame = !isEffort(sent) || sent === wantedEffort(request) || request.fixed?.reasoning_effort !== undefined;
  return isSame ? [] : [`reasoning_effort was sent as ${sent}, the nearest that this model takes.`];
}

function withTools(rules: VendorRules, request: UpstreamChat): UpstreamChat {
  const { toolChoice: choice, tools, ...others } = request;
  const [only] = tools;
  const offered = rules.takes.includes('strict') ? tools : tools.map(({ strict: _, ...tool }) => tool);
  const isByName = rules.forcesByName === true && choice === 'required' && tools.length === 1;
  if (rules.choosesAlone && choice === 'none') return { ...others, tools: [] };
  const toolChoice = isByName && only ? { name: only.name } : choice;
  // The word is what every vendor does by itself, and some refuse it.
  return { ...others, tools: offered, ...(toolChoice !== undefined && toolChoice !== 'auto' && { toolChoice }) };
}
