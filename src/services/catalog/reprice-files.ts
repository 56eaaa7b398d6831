import { rename, rm, writeFile } from 'node:fs/promises';
import { priceChanges, type PriceChange } from '../../domain/catalog/price-changes.ts';
import type { PricePolicy } from '../../domain/catalog/price-policy.ts';
import { readCatalogFiles, type CatalogText } from './load-catalog.ts';
import { repriceCatalog } from './reprice-catalog.ts';

export interface RepricedFiles {
  changes: PriceChange[];
  /** The files that differ, written or not. */
  files: string[];
}

/**
 * Prices the catalog of a folder or a file from its costs. With `write` it replaces the files that change, each as a whole. Throws what
 * `readCatalogFiles` and `repriceCatalog` throw; then no file has changed.
 */
export async function repriceFiles(
  path: string,
  { policy, write }: { policy: PricePolicy; write: boolean },
): Promise<RepricedFiles> {
  const texts = await readCatalogFiles(path);
  const { before, after, texts: repriced } = repriceCatalog(texts, policy);
  const changed = repriced.filter(({ text }, index) => text !== texts[index]?.text);
  if (write) await replaceFiles(changed);
  return {
    changes: before.flatMap((entry, index) => {
      const own = after[index];
      return own === undefined ? [] : priceChanges(entry, own);
    }),
    files: changed.flatMap(({ file }) => file ?? []),
  };
}

/** Writes every text beside its file first, so that a full disk changes none of the files. */
export async function replaceFiles(texts: readonly CatalogText[]): Promise<void> {
  const written = texts.flatMap(({ file, text }) =>
    file === undefined ? [] : [{ file, text, beside: `${file}.new` }],
  );
  try {
    for (const { text, beside } of written) await writeFile(beside, text);
    for (const { file, beside } of written) await rename(beside, file);
  } finally {
    for (const { beside } of written) await rm(beside, { force: true });
  }
}
