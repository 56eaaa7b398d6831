import type { ImportedInstallation, ImportedKey } from '../../domain/imports/imported.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';

/**
 * Takes out of an installation, and names as refused, each record that has the id or the secret of an earlier one: an import could not tell the
 * two apart. A secret is found as a text and as its digest.
 */
export function refuseRepeats(installation: ImportedInstallation): void {
  const { owners, keys, channels, redemptions, notices } = installation;
  const names = new Map(owners.map(({ id, name }) => [id, name]));
  const distinct = <Original extends { id: string }>(
    originals: readonly Original[],
    subjectOf: (original: Original) => string,
    marksOf: (original: Original) => string[] = () => [],
  ): Original[] => {
    const seen = new Map<string, string>();
    return originals.filter((original) => {
      const subject = subjectOf(original);
      const marks = [...marksOf(original), `id ${original.id}`];
      const repeated = marks.find((mark) => seen.has(mark));
      for (const mark of repeated === undefined ? marks : []) seen.set(mark, subject);
      if (repeated === undefined) return true;
      const sentence = `has the same ${repeated.split(' ')[0] ?? ''} as ${seen.get(repeated) ?? ''}.`;
      notices.push({ kind: 'refused', subject, sentence });
      return false;
    });
  };
  installation.owners = distinct(owners, ({ id, name }) => `user or team ${id} (${name})`);
  installation.keys = distinct(
    keys,
    (key) => `key ${key.id.slice(0, 12)} (${key.name}) of ${names.get(key.ownerId) ?? ''}`,
    secretsOf,
  );
  installation.channels = distinct(channels, ({ id, name }) => `channel ${id} (${name})`);
  installation.redemptions = distinct(redemptions, ({ id }) => `redemption code ${id}`);
}

const secretsOf = ({ secret }: ImportedKey): string[] =>
  ('sha256' in secret ? [secret.sha256] : secret.plain.map(sha256Hex)).map((digest) => `secret ${digest}`);
