import { z } from 'zod';
import { findUsable, listOffers, type Offer } from '../../services/catalog/list-offers.ts';
import { creditValueOf } from '../../services/ledger/credit-value.ts';
import { listedNamesOf, allNamesOf } from '../../domain/catalog/model-names.ts';
import { creditRange } from '../../domain/catalog/credit-range.ts';
import { GatewayError } from '../../domain/errors.ts';
import { readCursor } from '../../platform/cursor.ts';
import { ShortModelList, ModelRow } from '../schemas/catalog.ts';
import { action, option } from '../define-action.ts';
import { intFrom, shortText } from '../input.ts';
import { wholeListInput } from '../list-input.ts';
import { priceText } from '../price-text.ts';
import { listReport, withDocument } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';
import { sortColumnsOf, wholeList } from '../whole-list.ts';

const cursor = z
  .string()
  .transform((text, context): string => {
    const id = readCursor('models', /^[\w.-]{1,128}$/, text);
    if (id !== null) return id;
    context.addIssue({ code: 'custom', message: 'must be the cursor of an earlier list like this one' });
    return z.NEVER;
  })
  .optional();

/** `tollgate catalog models`: what a list shows of each model, without its parameters and its families. */
export const modelsAction = action({
  summary: 'list the models in short, each with its state, its price and its smallest margin',
  input: {
    type: option('<type>', ModelRow.shape.type.optional()).describe('show only chats, images or videos'),
    state: option('<state>', shortText.optional()).describe('show only models in this state, such as hidden or ending'),
    q: option('<text>', shortText.optional()).describe(
      'show only models with this in their id, their name or an alias, in any case; one with exactly this name is first',
    ),
    usableBy: option('<key>', shortText.optional()).describe(
      'show only models that clients are offered, that this key may use and that a channel serves',
    ),
    ...wholeListInput(sortColumnsOf(ModelRow), 'as in the catalog'),
    limit: option('<rows>', intFrom(1, 10_000).default(100)).describe('show at most this many rows (default: 100)'),
    after: option('<cursor>', cursor).describe('continue after the last row of an earlier list'),
  },
  route: { method: 'GET', path: '/models', role: 'viewer' },
  answer: ShortModelList,
  refusals: ['not_found'],
  needs: 'database',
  async run(deps, { type, state, q, usableBy, limit, after, ...order }) {
    const offers = await listOffers(deps.db, await creditValueOf(deps));
    const isUsable = usableBy === undefined ? () => true : await findUsable(deps.db, usableBy);
    const matching = offers.filter(
      (offer) =>
        (type === undefined || offer.model.type === type) &&
        (state === undefined || offer.state === state) &&
        (q === undefined || hasName(offer, q)) &&
        isUsable(offer),
    );
    const { items: ordered } = wholeList(matching, { ...order, timeOf: ({ createdAt }) => createdAt, toDocument });
    const items = q === undefined ? ordered : ordered.toSorted((a, b) => Number(isNamed(b, q)) - Number(isNamed(a, q)));
    const first = items.findIndex(({ model }) => model.id === after) + 1;
    // To begin anew would give a reader of all pages the same models again, without an end.
    if (after !== undefined && first === 0)
      throw new GatewayError('invalid_value', { param: 'after', message: goneCursor });
    const page = items.slice(first, first + limit);
    const isLast = first + limit >= items.length;
    const shown = await shownCredits(deps);
    const report = listReport(
      { items: page, next: isLast ? null : (page.at(-1)?.model.id ?? null) },
      (offer) => toLine(offer, shown),
      { list: 'models', nothing: 'No model matches.', toDocument },
    );
    const losing = offers
      .filter(({ smallestMargin }) => smallestMargin !== null && smallestMargin < 0)
      .map(({ model: { id, display_name } }) => ({ id, display_name }));
    const groups = [...new Set(offers.flatMap((offer) => offer.private.groups))].sort();
    return withDocument(report, { ...report.document, losing, groups });
  },
});

const goneCursor = 'after is behind a model that this list does not have any more. Read it from its beginning.';

const hasName = (offer: Offer, text: string): boolean =>
  [offer.model.display_name, ...allNamesOf(offer)].some((name) => name.toLowerCase().includes(text.toLowerCase()));
const isNamed = (offer: Offer, name: string): boolean => allNamesOf(offer).includes(name);

function toDocument({ model, private: hidden, state, smallestMargin }: Offer): z.input<typeof ModelRow> {
  const range = creditRange(model);
  const { id, display_name, owned_by, type, pricing } = model;
  return {
    id,
    display_name,
    owned_by,
    type,
    state,
    ends_on: hidden.ends_on ?? null,
    pricing,
    lowest_credits: range?.lowest ?? null,
    highest_credits: range?.highest ?? null,
    smallest_margin: smallestMargin,
    names: listedNamesOf({ model, private: hidden }),
  };
}

const toLine = ({ model, state, smallestMargin }: Offer, shown: (credits: number) => string) => ({
  id: model.id,
  vendor: model.owned_by,
  type: model.type,
  state,
  credits: priceText(model, shown),
  smallest_margin: smallestMargin === null ? 'unknown' : `${Math.round(100 * smallestMargin)} %`,
});
