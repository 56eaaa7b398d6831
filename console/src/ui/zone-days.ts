/** Days and hours of a time zone, which may have 23, 24 or 25 hours. */

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  // Swedes write `2030-01-31 14:00`.
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
  formats.set(zone, format);
  return format;
}

/** A moment as `2030-01-31T14:00` on the clocks of the zone. */
const onClocksOf = (zone: string, ms: number): string => formatOf(zone).format(ms).replace(' ', 'T');

/** The day of the zone to which a moment belongs, as `2030-01-31`. */
export const dayIn = (zone: string, ms: number): string => onClocksOf(zone, ms).slice(0, 10);

/** The hour of the zone to which a moment belongs, as `2030-01-31T14:00`. */
export const hourIn = (zone: string, ms: number): string => `${onClocksOf(zone, ms).slice(0, 13)}:00`;

/** The day so many days after one, by the calendar. */
export const daysAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00Z`) + days * dayMs).toISOString().slice(0, 10);

/** When a day of the zone begins, in milliseconds: at midnight, or after it where clocks are put forward then. */
export function beginOfDay(zone: string, day: string): number {
  const midnight = Date.parse(`${day}T00:00Z`);
  const offsets = [-dayMs, 0, dayMs].map((away) => offsetAt(zone, midnight + away));
  const candidates = offsets.map((offset) => midnight - offset).filter((ms) => dayIn(zone, ms) === day);
  return candidates.length === 0 ? midnight : Math.min(...candidates);
}

/** How far the clocks of the zone are ahead of UTC at a moment, in milliseconds. */
const offsetAt = (zone: string, ms: number): number =>
  Date.parse(`${onClocksOf(zone, ms)}Z`) - Math.floor(ms / minuteMs) * minuteMs;

const minuteMs = 60_000;
const dayMs = 86_400_000;
