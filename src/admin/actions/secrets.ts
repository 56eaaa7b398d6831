import { resealSecrets } from '../../services/projects/reseal-secrets.ts';
import { ResealedSecrets } from '../schemas/secrets.ts';
import { group, action } from '../define-action.ts';
import { table } from '../plain-text.ts';

/** `tollgate secrets …`: the secrets that are encrypted in the database. */
export const secretActions = group('the encrypted credentials and callback secrets', () => ({ reseal }));

const reseal = action({
  summary: 'encrypt every secret again with the first key of MASTER_KEYS, so that older keys can be removed',
  input: {},
  route: { method: 'POST', path: '/secrets/reseal', role: 'owner' },
  answer: ResealedSecrets,
  needs: 'secrets',
  async run(deps, _input, actor) {
    const counts = await resealSecrets(deps, { actor });
    const rows = Object.entries(counts);
    const unreadable = rows.flatMap(([, count]) => count.unreadable);
    const lines = table(rows.map(([what, count]) => ({ what, ...count, unreadable: count.unreadable.length })));
    const advice =
      unreadable.length === 0
        ? `Signed file URLs and stored answers to an Idempotency-Key need the older keys until they expire.`
        : `No configured key decrypts the secrets of ${unreadable.slice(0, 20).join(', ')}. Keep the older keys.`;
    return { document: counts, text: `${lines}\n${advice}`, refused: unreadable.length > 0 };
  },
});
