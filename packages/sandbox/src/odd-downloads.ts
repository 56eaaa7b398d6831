import { json, type Reply } from './family.ts';
import type { OddDownload, OddForm, ServedFile } from './odd-form.ts';
import { mediaFamilies } from './odd-results.ts';

const form = (
  name: string,
  requests: number,
  about: string,
  download: (file: ServedFile, request: OddDownload) => Reply,
): OddForm => ({ form: name, about, families: mediaFamilies, ends: 'succeeded', requests, download });

/** Statuses with which a store refuses what is not there yet, or what it cannot serve for a moment. */
const passingStatuses = [403, 404, 409, 500];
const redirects = 2;

/** The odd forms in which the sandbox serves the files of results. */
export const oddDownloads: readonly OddForm[] = [
  ...passingStatuses.map((status) =>
    form(`download_${status}`, 2, `the first request for the result is answered with ${status}`, (file, { count }) =>
      count === 1 ? json(status, { error: 'not available' }) : file,
    ),
  ),
  form('download_redirects', redirects + 1, 'the address of the result redirects twice', (file, { count, url }) =>
    count <= redirects ? json(count === 1 ? 302 : 307, {}, { location: `${url}?hop=${count}` }) : file,
  ),
  form('download_cut', 2, 'the first download of the result breaks off in the middle', (file, { count }) =>
    count === 1 ? { ...file, cut: true } : file,
  ),
  ...Object.entries({ brand_hvc1: 'hvc1', brand_cmfc: 'cmfc', brand_av01: 'av01', brand_unknown: 'new!' }).map(
    ([name, brand]): OddForm => ({
      ...form(name, 1, `the clip is an MP4 of the major brand ${brand}`, (file) => withBrand(file, brand)),
      types: ['video'],
    }),
  ),
];

/** The clip with another major brand in its first box (ISO 14496-12 §4.3). */
function withBrand(file: ServedFile, brand: string): ServedFile {
  const bytes = Buffer.from(file.bytes);
  bytes.write(brand, 8, 'latin1');
  return { ...file, bytes };
}
