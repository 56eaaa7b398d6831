import {
  creditsAndMoney,
  creditsCell as cell,
  creditValueOfNew,
  worth,
  type CreditMoney,
} from '../../../src/domain/ledger/money.ts';
import { zoneNow, type Zone } from './clock.ts';

/** Every number and time of the console is written here, so that all pages show them alike. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const usdShort = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 2 });
const usdFine = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  maximumSignificantDigits: 2,
  roundingPriority: 'morePrecision',
});
const share = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** A count. Credits are money, so they are only shortened where no page has room for them. */
export const number = (value: number): string => (Math.abs(value) < 100_000_000 ? whole : compact).format(value);

/** Credits and what they are worth, side by side. */
export const credits = (value: number): string => creditsAndMoney(value, creditMoney);

/** The same under a heading that says that they are credits. */
export const creditsCell = (value: number): string => cell(value, creditMoney);

/** What so many credits are worth. */
export const money = (value: number): string => worth(value, creditMoney);

/** The credits that are worth so many US dollars, at least one. */
export const creditsForUsd = (dollars: number): number =>
  Math.max(1, Math.round((dollars * 1e6) / Math.max(1, creditMoney.creditValue)));

/** The session tells it. */
let creditMoney: CreditMoney = { creditValue: creditValueOfNew, sign: '$' };
export const showMoneyAs = (money: CreditMoney): void => {
  creditMoney = money;
};

/** Millionths of a dollar. Small amounts keep their fractions of a cent. */
export const usd = (micro: number): string => (Math.abs(micro) < 100_000 ? usdFine : usdShort).format(micro / 1e6);

/** What calls cost, if the cost of some of them is unknown. Every page says costs by this function. */
export function cost(micro: number, unknownCosts: number): string {
  if (unknownCosts === 0) return usd(micro);
  return micro === 0 ? 'Unknown' : `at least ${usd(micro)} · ${number(unknownCosts)} unknown`;
}

/** What remains after such a cost. */
export const margin = (micro: number, unknownCosts: number): string =>
  unknownCosts === 0 ? usd(micro) : `at most ${usd(micro)}`;

/** A share from 0 to 1. Never shows 100 % for less than all. */
export const percent = (part: number): string => share.format(part < 1 ? Math.min(part, 0.999) : part);

export function milliseconds(ms: number): string {
  if (ms < 1_000) return `${whole.format(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** A span between two times of the API, which are whole seconds. */
export function seconds(span: number): string {
  if (span < 1) return 'under 1 s';
  return span < 60 ? `${whole.format(span)} s` : milliseconds(span * 1_000);
}

/** Unix seconds as the date and time in the zone that was chosen, which is written behind it. */
export const time = (seconds: number): string => dateTimes[zoneNow()].format(seconds * 1_000);

/** Milliseconds as the time of the day, with its zone. */
export const clockTime = (ms: number): string => clockTimes[zoneNow()].format(ms);

const inBothZones = (options: Intl.DateTimeFormatOptions): Record<Zone, Intl.DateTimeFormat> => ({
  local: new Intl.DateTimeFormat('en-GB', { ...options, timeZoneName: 'short' }),
  utc: new Intl.DateTimeFormat('en-GB', { ...options, timeZoneName: 'short', timeZone: 'UTC' }),
});
const clockFields = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
const dateTimes = inBothZones({ day: 'numeric', month: 'short', year: 'numeric', ...clockFields });
const clockTimes = inBothZones(clockFields);

const hoursAndDays = {
  local: new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', weekday: 'short' }),
  utc: new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', weekday: 'short', timeZone: 'UTC' }),
};

/** Unix seconds as `Mon 14:00` in the zone that was chosen, for the axis of a chart. */
export const hourAndDay = (seconds: number): string => hoursAndDays[zoneNow()].format(seconds * 1_000);

/** The zone that was chosen, as the admin API takes it. One that only has another name for UTC is UTC. */
export function zoneName(): string {
  const name = zoneNow() === 'utc' ? 'UTC' : new Intl.DateTimeFormat().resolvedOptions().timeZone;
  return /^(?:Etc\/)?(?:UTC|GMT|Unknown)$/.test(name) ? 'UTC' : name;
}

/** Unix seconds as a distance from now, such as "5 minutes ago". */
export function ago(seconds: number, now = Date.now() / 1_000): string {
  const distance = seconds - now;
  for (const [unit, size] of units)
    if (Math.abs(distance) >= size) return relative.format(Math.trunc(distance / size), unit);
  return 'just now';
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 5],
] as const;

/** The words of a name with underscores, such as `in_flight`. */
export const words = (name: string): string => {
  const text = name.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** What one credit is worth, in millionths of a dollar. */
export const creditValue = (): number => creditMoney.creditValue;
