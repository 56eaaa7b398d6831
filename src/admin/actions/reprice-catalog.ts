import type { PriceChange } from '../../domain/catalog/price-changes.ts';
import { markupDigits } from '../../domain/catalog/price-policy.ts';
import { priceMax } from '../../domain/catalog/price-schema.ts';
import { creditsCell, type CreditMoney } from '../../domain/ledger/money.ts';
import { OperatorError } from '../../services/operator-error.ts';
import { creditValueOf } from '../../services/ledger/credit-value.ts';
import { repriceFiles } from '../../services/catalog/reprice-files.ts';
import { action, flag, option } from '../define-action.ts';
import { intFrom, rawText, text } from '../input.ts';
import { table, usd } from '../plain-text.ts';
import { RepricedCatalog } from '../schemas/catalog.ts';

const markupMax = 1_000;
const markupRule = `must be a number above 0 and up to ${markupMax}, with at most ${markupDigits} digits after the point`;

/** As it is written: `1.25`. */
const markup = text()
  .refine((input) => new RegExp(`^\\d{1,4}(\\.\\d{1,${markupDigits}})?$`).test(input), markupRule)
  .transform(Number)
  .refine((value) => value > 0 && value <= markupMax, markupRule);

export const repriceAction = action({
  summary: 'price a catalog from its costs: shows old and new prices, and writes them with --write',
  input: {
    folder: rawText.describe('folder with the YAML files of a catalog, or one file'),
    markup: option('<number>', markup.describe('what a price is of its cost, such as 1.25')),
    minimum: option('<credits>', intFrom(1, priceMax).default(1)).describe('the lowest price of a request (1)'),
    creditValue: option('<micro-usd>', intFrom().optional()).describe(
      'what one credit is worth, in millionths of a dollar (CREDIT_VALUE_MICRO_USD)',
    ),
    write: flag().describe('change the files'),
  },
  route: { local: 'changes files of this machine' },
  answer: RepricedCatalog,
  needs: 'catalogSettings',
  async run({ config }, { folder, markup: factor, minimum, creditValue: wanted, write }) {
    const { currencySign: sign } = config.accounting;
    const current = await creditValueOf({ config });
    const creditValue = wanted ?? current;
    if (creditValue === 0)
      throw new OperatorError('CREDIT_VALUE_MICRO_USD is 0, so no price can follow from a cost. Give --credit-value.');
    const { changes, files } = await repriceFiles(folder, { policy: { markup: factor, minimum, creditValue }, write });
    const before: CreditMoney = { creditValue: current, sign };
    const after: CreditMoney = { creditValue, sign };
    const changed = changes.filter((change) => change.before !== change.after);
    return {
      document: {
        ok: true as const,
        written: write && files.length > 0,
        credit_value_micro_usd: creditValue,
        files,
        data: changes.map(({ cost, before: old, after: now, ...about }) => ({
          ...about,
          cost_micro_usd: cost,
          old_credits: old,
          new_credits: now,
          changed: old !== now,
        })),
      },
      text: [
        table(
          changed.map((change) => changeLine(change, before, after)),
          'Every price follows from its cost already.',
        ),
        '',
        `${changed.length} prices change, ${changes.length - changed.length} stay. A credit is worth ${usd(creditValue)} USD.`,
        summary(files, write),
      ].join('\n'),
    };
  },
});

const changeLine = (
  { model, item, family, cost, before: old, after: now }: PriceChange,
  before: CreditMoney,
  after: CreditMoney,
) => ({
  model,
  price_of: item,
  dearest_at: family,
  cost_usd: cost === 0 ? null : usd(Math.ceil(cost)),
  old: creditsCell(old, before),
  new: creditsCell(now, after),
  of_cost: cost === 0 ? null : `${((now * after.creditValue) / cost).toFixed(2)}`,
});

function summary(files: readonly string[], write: boolean): string {
  if (files.length === 0) return 'No file changes.';
  return write ? `Written: ${files.join(', ')}.` : `Nothing was written. With --write it changes ${files.join(', ')}.`;
}
