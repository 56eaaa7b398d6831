import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { etagOf } from '../../platform/crypto/hash.ts';
import type { AppContext } from '../context.ts';
import { answerRepresentation, type Representation } from '../response/etag.ts';

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Answers the files of a folder whose names contain a hash of their content, so that browsers keep them for ever. A file is read and
 * compressed at its first request. Returns false for a name that the folder does not have.
 */
export function createAssets(folder: string): (ctx: AppContext, name: string) => Promise<boolean> {
  const cached = new Map<string, Promise<Asset>>();
  return async (ctx, name) => {
    const asset = cached.get(name) ?? ((await isFileOf(folder, name)) ? readAsset(join(folder, name)) : undefined);
    if (asset === undefined) return false;
    cached.set(name, asset);
    asset.catch(() => cached.delete(name));
    const { plain, gzipped } = await asset;
    ctx.vary('Accept-Encoding');
    answerRepresentation(ctx, ctx.acceptsEncodings('gzip', 'identity') === 'gzip' ? gzipped : plain);
    ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
    return true;
  };
}

interface Asset {
  plain: Representation;
  gzipped: Representation;
}

/** Compares with the names of the folder, so that no name can lead out of it. */
const isFileOf = async (folder: string, name: string): Promise<boolean> =>
  (await readdir(folder).catch((): string[] => [])).includes(name);

async function readAsset(path: string): Promise<Asset> {
  const body = await readFile(path);
  const type = types[extname(path)] ?? 'application/octet-stream';
  const gzipped = await promisify(gzip)(body, { level: 9 });
  return {
    plain: { body, etag: etagOf(body), type },
    gzipped: { body: gzipped, etag: etagOf(gzipped), type, coding: 'gzip' },
  };
}
