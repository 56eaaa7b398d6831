import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyConfig, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { GatewayError } from '../../domain/errors.ts';

/** What takes the parts of a form. It throws `GatewayError` for a part that it refuses. */
export interface FormRules extends Required<Pick<BusboyConfig, 'limits' | 'isPartAFile'>> {
  /** Called when a file begins. What it returns takes the bytes. */
  file: (name: string, mimeType: string) => FormFilePart;
  /** Without it, fields are skipped. `isCut`: the text is longer than `limits.fieldSize`. */
  field?: (name: string, text: string, isCut: boolean) => void;
  /** What a form with too many parts of a kind is told. */
  tooMany: Record<'files' | 'fields' | 'parts', string>;
  invalid: (message: string, cause?: unknown) => GatewayError;
}

export interface FormFilePart {
  take: (chunk: Buffer) => void;
  /** The file is longer than `limits.fileSize`. Its rest is skipped. */
  cut?: () => void;
  end?: () => void;
}

/** Both throw the first refusal. */
export interface FormParser {
  write: (chunk: Buffer) => void;
  /** Resolves when every part has been taken. */
  end: () => Promise<void>;
}

/** Reads a multipart form as it arrives. Writes nothing to disk. */
export function createFormParser(request: IncomingMessage, rules: FormRules): FormParser {
  const { tooMany, invalid } = rules;
  let refusal: GatewayError | undefined;
  const attempt = <T>(take: () => T): T | undefined => {
    try {
      return take();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      refusal ??= error;
      return undefined;
    }
  };
  const refuse = (message: string) => () => {
    refusal ??= invalid(message);
  };
  const broken = refuse('The multipart body is malformed or incomplete.');

  const parser = openParser(request, rules);
  const finished = new Promise<void>((resolve) => parser.once('finish', resolve).once('error', () => resolve()));
  parser
    .on('file', (name: string, stream: BusboyFileStream, _fileName: string, _encoding: string, mimeType: string) => {
      const file = attempt(() => rules.file(name, mimeType));
      stream.on('error', broken).on('data', (chunk: Buffer) => file?.take(chunk));
      stream.on('limit', () => attempt(() => file?.cut?.())).on('end', () => attempt(() => file?.end?.()));
    })
    .on('filesLimit', refuse(tooMany.files))
    .on('fieldsLimit', refuse(tooMany.fields))
    .on('partsLimit', refuse(tooMany.parts))
    .on('error', broken);
  const { field } = rules;
  if (field) {
    parser.on('field', (name: string, text: string, _nameCut: boolean, isCut: boolean) =>
      attempt(() => field(name, text, isCut)),
    );
  }

  const demandAccepted = (): void => {
    if (refusal) throw refusal;
  };
  return {
    write(chunk) {
      parser.write(chunk);
      demandAccepted();
    },
    async end() {
      parser.end();
      await finished;
      demandAccepted();
    },
  };
}

function openParser({ headers }: IncomingMessage, { limits, isPartAFile, invalid }: FormRules): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      limits: { headerPairs: 20, ...limits },
      isPartAFile,
    });
  } catch (cause) {
    throw invalid('The multipart Content-Type has no usable boundary.', cause);
  }
}
