const marks: readonly { name: string; pattern: RegExp; isMeant?: (text: string) => boolean }[] = [
  { name: 'data', pattern: /\bdata:[\w.+-]+\/[\w.+-]+[^\s"'<>)]*/gi },
  { name: 'key', pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g },
  { name: 'key', pattern: /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g },
  {
    name: 'key',
    pattern: /\b(?:sk|pk|rk|whsec|xox[a-z]|gh[a-z]|github_pat|glpat|hf|npm|pypi|AIza|AKIA|ASIA|ya29)[-_.]?[\w-]{16,}/g,
  },
  { name: 'key', pattern: /(?<=\b(?:bearer|basic)\s+)[\w+/.=~-]{12,}/gi },
  {
    name: 'key',
    pattern:
      /(?<=\b(?:api[-_ ]?key|access[-_ ]?key|secret|token|password|passwd|pwd)["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi,
  },
  { name: 'email', pattern: /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/gu },
  { name: 'card', pattern: /(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])/g, isMeant: passesLuhn },
];

/** A text with keys, email addresses, numbers that pass the check of a payment card, and `data:` URIs replaced by `[key]`, `[email]`, `[card]` and `[data]`. */
export const redact = (text: string): string =>
  marks.reduce(
    (rest, { name, pattern, isMeant = () => true }) =>
      rest.replace(pattern, (found) => (isMeant(found) ? `[${name}]` : found)),
    text,
  );

/** ISO/IEC 7812-1, annex B. */
function passesLuhn(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => {
    const value = index % 2 === 0 ? digit : digit * 2;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
