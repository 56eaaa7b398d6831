import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { createTimeLimit } from '../egress/interruption.ts';
import { createFairBudget } from '../fair-budget.ts';
import { createMemoryBudget } from '../memory-budget.ts';
import { imageType, type ImageType } from './image-type.ts';

export interface CleanImage {
  bytes: Buffer;
  mimeType: ImageType;
  width: number;
  height: number;
}

/** Why a picture was refused. `busy` is not the picture's fault. */
export type ImageRefusal = 'not_an_image' | 'undecodable' | 'too_many_pixels' | 'too_slow' | 'too_large' | 'busy';
export type DecodedImage = { kind: 'ok'; image: CleanImage } | { kind: 'refused'; reason: ImageRefusal };

export type ImageDecoder = (bytes: Buffer, options: DecodeOptions) => Promise<DecodedImage>;

export interface DecodeOptions {
  /** The project whose picture it is. Projects take turns, and none fills the line alone. */
  owner: string;
  signal?: AbortSignal;
}

export interface ImageDecoderSettings {
  /** The most pictures that are decoded at the same time. Up to `waitingMax` more may wait. */
  concurrencyMax: number;
  waitingMax: number;
  /** The time from the first byte in to the last byte out. After it a decoder that has not ended is killed. */
  timeoutSeconds: number;
  pixelsMax: number;
  /** The most memory for the pixels in the decoder. */
  memoryBytesMax: number;
  /** The most bytes of the re-encoded picture. */
  bytesMax: number;
}

/**
 * Decodes a JPEG, PNG or WebP picture by its bytes and re-encodes it: upright, first frame only, without metadata and anything else
 * in the file. Every picture is decoded in a separate process that has no secrets, because attackers have exploited decoders
 * written in C. The process also returns its memory when it ends. Throws only if the process cannot run, or the reason of `signal`.
 */
export function createImageDecoder(settings: ImageDecoderSettings): ImageDecoder {
  const slots = createFairBudget({
    total: settings.concurrencyMax + settings.waitingMax,
    message: 'Too many images wait for the decoder.',
  });
  const turns = createMemoryBudget(settings.concurrencyMax);
  return async (bytes, { owner, signal = new AbortController().signal }) => {
    // Most bodies that are not a picture are refused without a process.
    if (!imageType(bytes)) return { kind: 'refused', reason: 'not_an_image' };
    const slot = slots.open(owner);
    if (!slot.mayTake(1)) return { kind: 'refused', reason: 'busy' };
    try {
      const endTurn = await turns.take(1, { owner, signal });
      try {
        // The client may have gone while this picture waited.
        signal.throwIfAborted();
        return await decodeApart(bytes, settings, signal);
      } finally {
        endTurn?.();
      }
    } finally {
      slot.release();
    }
  };
}

/** The first line of the decoder's output, as JSON; the picture follows. Not trusted: the decoder may be compromised. */
const DecoderHead = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ok'),
    mimeType: z.enum(['image/jpeg', 'image/png', 'image/webp']),
    width: z.int().positive(),
    height: z.int().positive(),
    bytes: z.int().positive(),
  }),
  z.object({ kind: z.literal('refused'), reason: z.enum(['undecodable', 'too_many_pixels', 'too_slow', 'too_large']) }),
]);
export type DecoderHead = z.infer<typeof DecoderHead>;

const headMaxBytes = 1_000;
const program = fileURLToPath(new URL('./decode-image-process.ts', import.meta.url));

async function decodeApart(bytes: Buffer, settings: ImageDecoderSettings, signal: AbortSignal): Promise<DecodedImage> {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      program,
      ...[settings.pixelsMax, settings.memoryBytesMax, settings.bytesMax].map(String),
      // The decoder accepts integer seconds, from 1 to an hour.
      String(Math.min(Math.max(Math.ceil(settings.timeoutSeconds), 1), 3_600)),
    ],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      // The environment has no secrets. Large pictures stay in memory, because the file system may be read-only.
      env: { VIPS_DISC_THRESHOLD: '2g', VIPS_CONCURRENCY: '1', MALLOC_ARENA_MAX: '2' },
    },
  );
  const limit = createTimeLimit(settings.timeoutSeconds * 1_000, signal);
  limit.signal.addEventListener('abort', () => void child.kill('SIGKILL'));
  try {
    const { output, exit } = await converse(child, bytes, settings.bytesMax + headMaxBytes);
    signal.throwIfAborted();
    if (limit.signal.aborted && exit.signal !== null) return { kind: 'refused', reason: 'too_slow' };
    const answer = readAnswer(output);
    if (answer) return answer;
    // A picture can crash the decoder or exhaust its memory. An exit code means a bug in our own program.
    if (exit.signal !== null) return { kind: 'refused', reason: 'undecodable' };
    throw new Error(`the image decoder ended with exit code ${exit.code}`);
  } finally {
    limit.release();
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
    // The decoder may refuse the picture before it has read all of it.
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
  // The decoder was killed while it was writing.
  if (bytes.length !== head.bytes) return null;
  return { kind: 'ok', image: { bytes, mimeType: head.mimeType, width: head.width, height: head.height } };
}
