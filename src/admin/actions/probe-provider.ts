import { ProbedProvider } from '../schemas/channels.ts';
import { action, option, readFrom } from '../define-action.ts';
import { nameList } from '../input.ts';
import { oneLine, table } from '../plain-text.ts';
import { baseUrl, credential, credentialHelp, families, family, sendable } from '../channel-input.ts';
import { callText, freeCall, listText } from './verify-channel.ts';

/** `tollgate channels probe`: the free test of a provider before it is a channel. */
export const probeAction = action({
  summary: 'check a provider for free before it is added as a channel; exits 1 on a failure',
  input: {
    adapter: option('<family>', family).describe(`provider family: ${families.join(', ')}`),
    baseUrl: option('<url>', baseUrl).describe('URL that the paths of the adapter are appended to'),
    credential: readFrom('stdin', option('<secret>', credential)).describe(credentialHelp),
    groups: option('<names>', nameList).describe('the groups of the catalog that it would serve, as a,b'),
  },
  example: {
    adapter: 'openai',
    base_url: 'https://api.openai.com/v1',
    credential: 'sk-proj-example',
    groups: ['chat', 'images'],
  },
  route: { method: 'POST', path: '/channels/probe', role: 'owner' },
  answer: ProbedProvider,
  refusals: ['action_refused'],
  needs: 'worker',
  async run(deps, draft) {
    const { verifyDraft } = await import('../../services/channels/verify/verify-draft.ts');
    const { test, list, mappings, ok } = await verifyDraft(deps, { ...draft, credential: sendable(draft.credential) });
    const data = mappings.map(({ model, type, upstream, listed }) => ({ model, type, upstream, listed }));
    const lines = data.map(({ model, upstream, listed }) => ({
      model,
      upstream: upstream.join(', '),
      listed: listed === null ? null : listed ? 'yes' : 'no',
    }));
    return {
      document: { adapter: draft.adapter, ok, call: freeCall(test), list, data },
      text: [oneLine(callText(test)), listText(list), '', table(lines, 'It would serve no model of the catalog.')].join(
        '\n',
      ),
      refused: !ok,
    };
  },
});
