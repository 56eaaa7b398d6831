import { listOf } from '../../schemas/list.ts';
import { findAnything, type SearchHit } from '../../services/search/find-anything.ts';
import { SearchHitSchema } from '../schemas/search.ts';
import { action } from '../define-action.ts';
import { shortText } from '../input.ts';
import { listReport } from '../report.ts';

/** `tollgate search`: what an operator means by an id, by a part of a name or by characters of a key. */
export const searchAction = action({
  summary: 'find anything by its id, by a part of its name, or by the first or last characters of a key',
  input: {
    q: shortText.describe(
      'id or its beginning, such as task_…, req_… or dlv_…; id of an answer, of a callback or of a job at its provider; name; or characters of a key',
    ),
  },
  route: { method: 'GET', path: '/search', role: 'viewer' },
  answer: listOf(SearchHitSchema),
  needs: 'database',
  async run({ db }, { q }) {
    return listReport({ items: await findAnything({ db }, q), next: null }, (hit: SearchHit) => ({ ...hit }), {
      list: 'search',
      nothing: 'Nothing matches.',
      toDocument: (hit) => hit,
    });
  },
});
