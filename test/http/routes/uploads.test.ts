import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import sharp from 'sharp';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { countRows } from '../../support/rows.ts';
import { connectionsTo, decodersOf, watchMemory } from '../../support/processes.ts';
import { animatedPng, animatedWebp, bomb, flatJpeg, jpeg, lyingPng, plain, png, webp } from '../../support/pictures.ts';
import {
  multipart,
  multipartType,
  refusalOf,
  sendPicture,
  upload,
  UploadedFile,
  uploadPath,
} from '../../support/upload.ts';
import { spec } from '../../spec/spec.ts';

let gateway: Gateway;
let project: TestProject;
const sender = (): { baseUrl: string; apiKey: string } => ({ baseUrl: gateway.baseUrl, apiKey: project.apiKey });
const apiPid = (): number => gateway.pids()['api-1'] ?? 0;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, sandbox: false });
  project = await gateway.project({ credits: 0 });
});
afterAll(() => gateway.stop());

const fetched = async (url: string): Promise<{ headers: Headers; bytes: Buffer }> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  expect(response.status).toBe(200);
  return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
};

describe('an uploaded image', () => {
  it.each([
    ['jpeg', jpeg],
    ['png', png],
    ['webp', webp],
  ])('is stored in its format and served by its URL, and costs no credits: %s', async (format, make) => {
    const sent = await make();
    const answer = await sendPicture(sender(), sent, `image/${format}`);
    expect(answer.status).toBe(201);
    const file = UploadedFile.parse(JSON.parse(answer.text));
    expect(file).toMatchObject({ mime_type: `image/${format}`, width: 40, height: 30 });
    expect(file.expires_at - file.created_at).toBe(86_400);
    const { headers, bytes } = await fetched(file.url);
    expect(headers.get('content-type')).toBe(`image/${format}`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-disposition')).toContain(file.id);
    expect(bytes.length).toBe(file.bytes);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256);
    expect(await sharp(bytes).metadata()).toMatchObject({ format, width: 40, height: 30 });
  });

  it('may be the multipart field "file" with any file name and any declared type', async () => {
    const content = await png();
    for (const fileName of ['../../x', 'a\0b', '🦊.svg', 'x'.repeat(5_000), '']) {
      const body = multipart(
        { name: 'purpose', content: 'input' },
        { name: 'file', content, fileName, type: 'text/html' },
      );
      const answer = await sendPicture(sender(), body, multipartType);
      expect({ fileName, status: answer.status }).toEqual({ fileName, status: 201 });
      expect(UploadedFile.parse(JSON.parse(answer.text)).mime_type).toBe('image/png');
    }
    const unnamed = await sendPicture(sender(), multipart({ name: 'file', content }), multipartType);
    expect(unnamed.status).toBe(201);
  });

  it('gets the type of its bytes if the declared type is wrong', async () => {
    expect((await upload(sender(), await png(), 'image/jpeg')).mime_type).toBe('image/png');
    expect((await upload(sender(), await webp(), 'image/svg+xml')).mime_type).toBe('image/webp');
  });

  it('loses its EXIF, XMP and other metadata and is rotated upright', async () => {
    const exif = { IFD0: { Copyright: 'secret-owner' }, IFD3: { GPSLatitude: '51/1 30/1 3230/100' } };
    const xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/">secret-xmp</x:xmpmeta>';
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const sent = await plain(40, 30)
        .withMetadata({ orientation: 6 })
        .withExifMerge(exif)
        .withXmp(xmp)
        .toFormat(format)
        .toBuffer();
      expect(await sharp(sent).metadata()).toMatchObject({ exif: expect.any(Buffer), xmp: expect.any(Buffer) });
      const { bytes } = await fetched((await upload(sender(), sent)).url);
      const metadata = await sharp(bytes).metadata();
      for (const part of ['exif', 'xmp', 'iptc', 'icc', 'orientation', 'comments'])
        expect(metadata).not.toHaveProperty(part);
      expect(metadata).toMatchObject({ format, width: 30, height: 40 });
      expect(bytes.includes('secret')).toBe(false);
    }
  });

  it('loses data that is embedded in it or appended to it', async () => {
    const html = Buffer.from('<html><script>alert("polyglot")</script></html>');
    const picture = await jpeg();
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, html.length + 2]), html]);
    const polyglots = [
      Buffer.concat([picture, html]),
      Buffer.concat([picture.subarray(0, 2), comment, picture.subarray(2)]),
      Buffer.concat([await png(), Buffer.from('PK\x03\x04'), html]),
    ];
    for (const polyglot of polyglots) {
      const { bytes } = await fetched((await upload(sender(), polyglot)).url);
      expect(bytes.includes('polyglot')).toBe(false);
      expect(bytes.equals(polyglot)).toBe(false);
    }
  });

  it('is reduced to its first frame if it is animated', async () => {
    const moving = await fetched((await upload(sender(), await animatedWebp(), 'image/webp')).url);
    expect(await sharp(moving.bytes).metadata()).toMatchObject({ format: 'webp', width: 20, height: 10 });
    expect((await sharp(moving.bytes).metadata()).pages ?? 1).toBe(1);
    const [red = 0, , blue = 255] = await sharp(moving.bytes).removeAlpha().raw().toBuffer();
    expect(red).toBeGreaterThan(200);
    expect(blue).toBeLessThan(50);
    const { bytes } = await fetched((await upload(sender(), await animatedPng())).url);
    expect(bytes.includes('acTL') || bytes.includes('fdAT')).toBe(false);
  });
});

describe('an invalid upload', () => {
  it('is invalid_image and leaves no file row if the body is not a supported image', async () => {
    spec('4.3 formats');
    const before = await countRows(gateway.database);
    const svg = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    );
    const noise = sharp(randomBytes(200 * 200 * 3), { raw: { width: 200, height: 200, channels: 3 } });
    const cut = async (format: 'jpeg' | 'png' | 'webp') => {
      const whole = await noise.clone().toFormat(format).toBuffer();
      return whole.subarray(0, Math.floor(whole.length / 2));
    };
    const bodies: Record<string, Buffer> = {
      empty: Buffer.alloc(0),
      'a JPEG’s first bytes': Buffer.from('\xff\xd8\xff\xe0', 'latin1'),
      'a PNG’s first bytes': Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
      'a WebP’s first bytes': Buffer.from('RIFF\x04\0\0\0WEBP', 'latin1'),
      SVG: svg,
      'SVG behind a PNG’s first bytes': Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), svg]),
      GIF: await plain(9, 9).gif().toBuffer(),
      TIFF: await plain(9, 9).tiff().toBuffer(),
      AVIF: await plain(16, 16).avif({ effort: 0 }).toBuffer(),
      PDF: Buffer.from('%PDF-1.4\n%%EOF'),
      text: Buffer.from('hello'),
      'a JPEG cut short': await cut('jpeg'),
      'a PNG cut short': await cut('png'),
      'a WebP cut short': await cut('webp'),
      'a PNG header of 36 megapixels without the pixels': lyingPng(6_000, 6_000),
      'a PNG header of four exapixels': lyingPng(2_000_000_000, 2_000_000_000),
      'more pixels than the limit': await bomb(6_400),
    };
    for (const [index, [name, body]] of Object.entries(bodies).entries()) {
      const inside = multipart({ name: 'file', content: body, fileName: 'a.png', type: 'image/png' });
      const sent = index % 2 === 0 ? sendPicture(sender(), body) : sendPicture(sender(), inside, multipartType);
      expect({ name, ...refusalOf(await sent) }).toEqual({ name, status: 400, code: 'invalid_image' });
    }
    expect((await countRows(gateway.database)).file).toBe(before.file);
  });

  it('is invalid_multipart if the form is wrong', async () => {
    spec('4.3 encoding and size');
    const content = await png();
    const file = { name: 'file', content, fileName: 'a.png', type: 'image/png' };
    const whole = multipart(file);
    const fields = Array.from({ length: 100 }, (_, index) => ({ name: `f${index}`, content: 'x' }));
    const bodies: Record<string, Buffer> = {
      'no parts': multipart(),
      'no file': multipart({ name: 'purpose', content: 'x' }),
      'another field name': multipart({ ...file, name: 'picture' }),
      'two files': multipart(file, file),
      'many fields before the file': multipart(...fields, file),
      'many fields after the file': multipart(file, ...fields),
      'cut short in the image': whole.subarray(0, 150),
      'cut short at the end': whole.subarray(0, whole.length - 10),
      'cut short in a header': whole.subarray(0, 40),
      'part headers of 200 kB': multipart({ ...file, fileName: 'x'.repeat(200_000) }),
      'many part headers': multipart({ ...file, type: Array.from({ length: 5_000 }, () => 'a\r\nx: y').join('') }),
      'a long text before the first part': Buffer.concat([Buffer.alloc(200_000, 'x'), Buffer.from('\r\n'), whole]),
      empty: Buffer.alloc(0),
      'an image without a form': content,
    };
    for (const [name, body] of Object.entries(bodies)) {
      const refusal = refusalOf(await sendPicture(sender(), body, multipartType));
      expect({ name, ...refusal }).toEqual({ name, status: 400, code: 'invalid_multipart' });
    }
    const unbounded = await sendPicture(sender(), whole, 'multipart/form-data');
    expect(refusalOf(unbounded)).toEqual({ status: 400, code: 'invalid_multipart' });
  });

  it('is unsupported_media_type if its Content-Type is not an image or a form, or if it is compressed', async () => {
    const content = await png();
    for (const type of ['application/json', 'text/plain', 'application/octet-stream', 'image/', 'nonsense', '']) {
      const refusal = refusalOf(await sendPicture(sender(), content, type));
      expect({ type, ...refusal }).toEqual({ type, status: 415, code: 'unsupported_media_type' });
    }
    const packed = await sendPicture(sender(), content, 'image/png', { 'content-encoding': 'gzip' });
    expect(refusalOf(packed)).toEqual({ status: 415, code: 'unsupported_media_type' });
  });

  it('is payload_too_large above 10 MB, with or without Content-Length, and its connection is closed', async () => {
    spec('8 upload size');
    const large = randomBytes(10_000_001);
    const chunked = { 'transfer-encoding': 'chunked' };
    const form = multipart({ name: 'file', content: large, fileName: 'a.png' });
    const answers = [
      await sendPicture(sender(), large),
      await sendPicture(sender(), large, 'image/png', chunked),
      await sendPicture(sender(), form, multipartType),
      await sendPicture(sender(), form, multipartType, chunked),
    ];
    for (const answer of answers) expect(refusalOf(answer)).toEqual({ status: 413, code: 'payload_too_large' });
    const early = await sendHead(gateway.baseUrl, project.apiKey, 50_000_000);
    expect(early).toMatch(/^HTTP\/1\.1 413 /);
    expect(early).toMatch(/connection: close/i);
    expect(early).not.toContain('100 Continue');
  });

  it('is not read without a valid key', async () => {
    expect(await sendHead(gateway.baseUrl, 'nobody', 1_000)).toMatch(/^HTTP\/1\.1 401 /);
    expect(await sendHead(gateway.baseUrl, project.apiKey, 1_000)).toMatch(/^HTTP\/1\.1 100 Continue/);
  });
});

describe('the resources of uploads', () => {
  it('are below 200 MB of memory for any image', async () => {
    const raw = { width: 1_780, height: 1_780, channels: 3 } as const;
    const noise = sharp(randomBytes(raw.width * raw.height * raw.channels), { raw });
    const pictures: [string, number, Buffer][] = [
      ['a decompression bomb', 400, await bomb(30_000)],
      ['a plain JPEG, 40 Mpx', 201, await flatJpeg(8_000, 5_000)],
      ['a rotated JPEG, 27 Mpx', 201, await flatJpeg(6_000, 4_500, { orientation: 6 })],
      ['progressive, 20 Mpx', 400, await progressive(5_000, 4_000)],
      ['progressive, 14 Mpx', 201, await progressive(4_500, 3_200)],
      ['interlaced, 20 Mpx', 400, await interlaced(5_000, 4_000)],
      ['interlaced, 13 Mpx', 201, await interlaced(4_200, 3_200)],
      ['WebP, 40 Mpx', 400, flatWebp],
      ['WebP, 5 Mpx', 201, await plain(2_600, 2_000, { alpha: true }).webp({ lossless: true, effort: 0 }).toBuffer()],
      ['WebP, 9 Mpx', 201, await plain(3_500, 2_600).webp({ effort: 0 }).toBuffer()],
      ['ten megabytes of noise', 201, await noise.png({ compressionLevel: 0 }).toBuffer()],
    ];
    const memory = watchMemory(apiPid());
    try {
      for (const [name, status, body] of pictures) {
        const answer = await sendPicture(sender(), body);
        expect({ name, status: answer.status }).toEqual({ name, status });
        const grownMb = Math.round(memory.grownBytes() / 1e6);
        expect({ name, isModest: grownMb < 200, grownMb }).toEqual({ name, isModest: true, grownMb });
      }
    } finally {
      memory.stop();
    }
    expect(memory.decodersMax()).toBe(1);
  });

  it('are limited to two decoders while further uploads wait', async () => {
    const body = await flatJpeg(3_000, 2_000);
    const memory = watchMemory(apiPid());
    try {
      const statuses: number[] = [];
      // The uploads may come one after another, and the watch may miss them, while this process is delayed.
      while (memory.decodersMax() < 2 && statuses.length < 200) {
        const answers = await Promise.all(Array.from({ length: 4 }, () => sendPicture(sender(), body)));
        statuses.push(...answers.map(({ status }) => status));
      }
      expect(new Set(statuses)).toEqual(new Set([201]));
    } finally {
      memory.stop();
    }
    expect(memory.decodersMax()).toBe(2);
  });

  it('are all freed after fifty clients hang up in the middle of their uploads', async () => {
    const before = { files: storedFiles(), rows: (await countRows(gateway.database)).file };
    const port = Number(new URL(gateway.baseUrl).port);
    const connectionsBefore = connectionsTo(port);
    const picture = await jpeg(3_000, 2_000);
    const form = multipart({ name: 'file', content: picture, fileName: 'a.jpg' });
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 2 === 0 ? breakOff(picture, 'image/jpeg') : breakOff(form, multipartType),
      ),
    );
    await eventually(() => Promise.resolve(connectionsTo(port) <= connectionsBefore), {
      what: 'the end of the connections',
    });
    await eventually(() => Promise.resolve(decodersOf(apiPid()).length === 0), { what: 'the end of the decoders' });
    expect({ files: storedFiles(), rows: (await countRows(gateway.database)).file }).toEqual(before);
    expect((await sendPicture(sender(), picture)).status).toBe(201);
  });
});

/** 8,000 × 5,000 pixels of one colour. Decoding and encoding this image would take 850 MB. */
const flatWebp = Buffer.from('UklGRiAAAABXRUJQVlA4TBQAAAAvP9/hFAdQgVQIIAAKmgLGiIj+Bw==', 'base64');

const progressive = (width: number, height: number): Promise<Buffer> =>
  plain(width, height).jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer();

const interlaced = (width: number, height: number): Promise<Buffer> =>
  plain(width, height, { alpha: true }).toColourspace('rgb16').png({ progressive: true }).toBuffer();

/** The names of all files in the file store, including its spool folder. */
const storedFiles = (): string[] => {
  const entries = readdirSync(join(gateway.logFolder, 'files'), { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).sort();
};

/** Sends half of a body and hangs up. */
function breakOff(body: Buffer, type: string): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = request(`${gateway.baseUrl}${uploadPath}`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': type, 'content-length': body.length },
    });
    outgoing.on('error', () => undefined).once('close', resolve);
    outgoing.write(body.subarray(0, body.length / 2), () => outgoing.destroy());
  });
}

/** Sends only the headers of an upload and returns the response that precedes the body. */
function sendHead(baseUrl: string, apiKey: string, length: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer')));
    socket.once('error', reject).once('data', (data) => {
      resolve(data.toString('latin1'));
      socket.destroy();
    });
    socket.write(
      `POST ${uploadPath} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: image/png\r\n` +
        `content-length: ${length}\r\nexpect: 100-continue\r\n\r\n`,
    );
  });
}
