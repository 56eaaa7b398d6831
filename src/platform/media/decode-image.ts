import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export interface CleanImage {
  bytes: Buffer;
  mimeType: 'image/jpeg' | 'image/png' | 'image/webp';
  width: number;
  height: number;
}

/** Why a picture was not taken, for its sender. `busy` is no fault of the picture. */
export type ImageRefusal = 'not_an_image' | 'undecodable' | 'too_many_pixels' | 'too_slow' | 'too_large' | 'busy';
export type DecodedImage = { kind: 'ok'; image: CleanImage } | { kind: 'refused'; reason: ImageRefusal };

export type ImageDecoder = (bytes: Buffer, options?: { signal?: AbortSignal }) => Promise<DecodedImage>;

export interface ImageDecoderSettings {
  /** Pictures that are decoded at once; so many more may wait as `waitingMax` says. */
  concurrencyMax: number;
  waitingMax: number;
  /** From the first byte handed over to the last one back; the decoder is killed then. */
  timeoutSeconds: number;
  pixelsMax: number;
  /** What the picture itself may take in the decoder's memory. */
  memoryBytesMax: number;
  /** Of the re-encoded picture. */
  bytesMax: number;
}

/**
 * Decodes a JPEG, PNG or WebP picture by its bytes and encodes it anew: upright, its first frame only, without metadata
 * and without whatever else was in the file. Every picture is decoded in a process of its own, with nothing in it but the
 * picture: decoders written in C have been broken into, and what they take of memory goes when they end.
 * Throws only when that process cannot be run, and what `signal` was aborted with.
 */
export function createImageDecoder(settings: ImageDecoderSettings): ImageDecoder {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (bytes, { signal } = {}) => {
    // Most of what is no picture at all is not worth a process.
    if (!imageType(bytes)) return { kind: 'refused', reason: 'not_an_image' };
    if (running >= settings.concurrencyMax) {
      if (waiting.length >= settings.waitingMax) return { kind: 'refused', reason: 'busy' };
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await decodeApart(bytes, settings, signal);
    } finally {
      // Whoever waits takes over this place, so `running` stays.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}

/** What the first bytes say. */
export function imageType(bytes: Buffer): CleanImage['mimeType'] | null {
  const text = (start: number, end: number) => bytes.toString('latin1', start, end);
  if (text(0, 3) === '\xff\xd8\xff') return 'image/jpeg';
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'image/webp';
  return null;
}

/** How the decoder's answer begins: this line as JSON, then the picture. Whoever broke into it may say anything. */
const DecoderHead = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ok'),
    mimeType: z.enum(['image/jpeg', 'image/png', 'image/webp']),
    width: z.int().positive(),
    height: z.int().positive(),
    bytes: z.int().positive(),
  }),
  z.object({ kind: z.literal('refused'), reason: z.enum(['undecodable', 'too_many_pixels', 'too_large']) }),
]);
export type DecoderHead = z.infer<typeof DecoderHead>;

const headMaxBytes = 1_000;
const program = fileURLToPath(new URL('./decode-image-process.ts', import.meta.url));

async function decodeApart(
  bytes: Buffer,
  settings: ImageDecoderSettings,
  signal: AbortSignal | undefined,
): Promise<DecodedImage> {
  // It may have waited long for its turn.
  signal?.throwIfAborted();
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      program,
      ...[settings.pixelsMax, settings.memoryBytesMax, settings.bytesMax].map(String),
      // The decoder takes whole seconds, from 1 to an hour.
      String(Math.min(Math.max(Math.ceil(settings.timeoutSeconds), 1), 3_600)),
    ],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      // No secret of ours is in there with the picture. Large pictures stay in memory: a file system may be read-only.
      env: { VIPS_DISC_THRESHOLD: '2g', VIPS_CONCURRENCY: '1', MALLOC_ARENA_MAX: '2' },
    },
  );
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, settings.timeoutSeconds * 1_000);
  const onAbort = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const { output, exit } = await converse(child, bytes, settings.bytesMax + headMaxBytes);
    signal?.throwIfAborted();
    if (late) return { kind: 'refused', reason: 'too_slow' };
    const answer = readAnswer(output);
    if (answer) return answer;
    // A picture can make a decoder crash or take all memory; leaving with an exit code is our own program's fault.
    if (exit.signal !== null) return { kind: 'refused', reason: 'undecodable' };
    throw new Error(`the image decoder ended with exit code ${exit.code}`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
  }
}

interface Conversation {
  output: Buffer;
  exit: { code: number | null; signal: NodeJS.Signals | null };
}

function converse(child: ChildProcess, input: Buffer, outputMaxBytes: number): Promise<Conversation> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > outputMaxBytes) child.kill('SIGKILL');
      else chunks.push(chunk);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ output: Buffer.concat(chunks), exit: { code, signal } }));
    // It may have seen enough before it has read all.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

function readAnswer(output: Buffer): DecodedImage | null {
  const end = output.subarray(0, headMaxBytes).indexOf(10);
  if (end < 0) return null;
  const head = DecoderHead.parse(JSON.parse(output.toString('utf8', 0, end)));
  if (head.kind === 'refused') return head;
  const bytes = output.subarray(end + 1);
  // Killed while it was still talking.
  if (bytes.length !== head.bytes) return null;
  return { kind: 'ok', image: { bytes, mimeType: head.mimeType, width: head.width, height: head.height } };
}
