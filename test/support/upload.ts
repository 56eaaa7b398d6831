import { z } from 'zod';
import { sendRaw, type RawAnswer } from './raw-request.ts';

/** The answer to an upload. */
export const UploadedFile = z.strictObject({
  id: z.string().regex(/^file_[0-9a-z]{26}$/),
  object: z.literal('file'),
  url: z.string(),
  mime_type: z.enum(['image/jpeg', 'image/png', 'image/webp']),
  bytes: z.number().int(),
  width: z.number().int(),
  height: z.number().int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: z.number().int(),
  expires_at: z.number().int(),
});
export type UploadedFile = z.infer<typeof UploadedFile>;

export const uploadPath = '/api/v1/images/upload';

interface Sender {
  baseUrl: string;
  apiKey: string;
}

const sendsMax = 5;

/** Uploads a raw body with this Content-Type, and again if the picture took too long to decode, as on a busy machine. */
export async function sendPicture(
  { baseUrl, apiKey }: Sender,
  body: Buffer,
  type = 'image/png',
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  for (let sends = 1; ; sends += 1) {
    const answer = await sendRaw({
      method: 'POST',
      url: `${baseUrl}${uploadPath}`,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': type, ...headers },
      body,
    });
    if (sends === sendsMax || !answer.text.includes('takes too long to decode')) return answer;
  }
}

/** Uploads a picture that must be accepted and returns the file. */
export async function upload(sender: Sender, body: Buffer, type?: string): Promise<UploadedFile> {
  const answer = await sendPicture(sender, body, type);
  if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status} ${answer.text}`);
  return UploadedFile.parse(JSON.parse(answer.text));
}

interface Part {
  name: string;
  content: Buffer | string;
  /** A part without a file name is a form field. */
  fileName?: string;
  type?: string;
}

const boundary = 'upload-boundary';
export const multipartType = `multipart/form-data; boundary=${boundary}`;

export const multipart = (...parts: Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ name, content, fileName, type }) => [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"` +
          (fileName === undefined ? '' : `; filename="${fileName}"`) +
          (type === undefined ? '' : `\r\ncontent-type: ${type}`) +
          '\r\n\r\n',
      ),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);

const ErrorBody = z.object({ error: z.object({ code: z.string(), param: z.string().nullable() }) });

/** The status and the error code of a refusal. */
export const refusalOf = ({ status, text }: RawAnswer): { status: number; code: string } => ({
  status,
  code: ErrorBody.parse(JSON.parse(text)).error.code,
});
