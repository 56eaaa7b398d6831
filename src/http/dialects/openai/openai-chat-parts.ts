import { z } from 'zod';
import type { ChatContent, ChatPart } from '../../../domain/chat/chat.ts';
import { chosenBy, arrayOf, typeIn } from '../../request/validate.ts';
import { CacheMark, nonNullFields, ImageUrl, isNonNull, v1ItemsMax } from '../chat-fields.ts';
import { V1ImageUrl } from '../picture-url.ts';
import { missingFile, notStored, toFilePart } from '../document-part.ts';

const TextPart = z.object({ type: z.literal('text'), text: z.string(), cache_control: CacheMark });
const ImagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: ImageUrl, detail: z.enum(['auto', 'low', 'high', 'original']).nullish() }),
  cache_control: CacheMark,
});
/** A file (https://developers.openai.com/api/docs/guides/pdf-files, read 2026-11-26). */
const FilePart = z.object({
  type: z.literal('file'),
  file: z.object({
    file_data: z.string().nullish(),
    filename: z.string().max(512).nullish(),
    // Read so that its refusal can say what to send.
    file_id: z.string().max(2_048).nullish(),
  }),
  cache_control: CacheMark,
});
/** Some programs send a PDF as they send a picture. */
const url = chosenBy((value): z.ZodType<string> => (isPdfUri(value) ? z.string() : V1ImageUrl), [V1ImageUrl]);
const Picture = z.object({ ...ImagePart.shape.image_url.shape, url });
/** SDKs of Mistral send the URL itself. */
const PictureOrPdf = z.object({
  ...ImagePart.shape,
  image_url: chosenBy(
    (value): z.ZodType<z.output<typeof Picture>> =>
      typeof value === 'string' ? url.transform((text) => ({ url: text })) : Picture,
    [Picture],
  ),
});
/** A document of Mistral's clients (https://docs.mistral.ai/capabilities/document_ai/document_qna, read 2026-11-28). */
const DocumentPart = z.object({
  type: z.literal('document_url'),
  document_url: z.string(),
  document_name: z.string().max(512).nullish(),
  cache_control: CacheMark,
});
/** Parts of the Responses API, which Open WebUI 0.8 to 0.10 sends in the results of tools. */
const InputText = TextPart.extend({ type: z.literal('input_text') });
const InputImage = z.object({
  type: z.literal('input_image'),
  image_url: V1ImageUrl,
  detail: ImagePart.shape.image_url.shape.detail,
  cache_control: CacheMark,
});
const RefusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

const contentOf = <Part extends z.ZodType>(part: Part, max: number) =>
  z.union([z.string(), arrayOf(part, { min: 1, max })]);
/** What each role says, in at most `max` parts. */
export const contentsOf = (max: number) => ({
  text: contentOf(TextPart, max),
  user: contentOf(z.discriminatedUnion('type', [TextPart, ImagePart]), max),
  assistant: contentOf(z.discriminatedUnion('type', [TextPart, RefusalPart]), max),
});
/** What users and tools say under `/v1`. */
export const v1Content = contentOf(
  z.discriminatedUnion('type', [TextPart, PictureOrPdf, FilePart, DocumentPart, InputText, InputImage]),
  v1ItemsMax,
);

const isThought = (part: unknown): boolean => typeIn(part) === 'thinking';
/** Leaves out the thoughts that clients of Mistral's API send back as parts: no provider takes them in that form. */
const withoutThoughts = (value: unknown): unknown => {
  if (!Array.isArray(value) || !value.some(isThought)) return value;
  const rest = value.filter((part) => !isThought(part));
  return rest.length > 0 ? rest : '';
};
const { assistant, ...others } = contentsOf(v1ItemsMax);
/** What each role may say under `/v1`; users and tools may also say `v1Content`. */
export const v1Contents = { ...others, assistant: z.preprocess(withoutThoughts, assistant) };
export type Contents = ReturnType<typeof contentsOf>;

export type ContentIn = z.infer<typeof v1Content> | z.infer<Contents['assistant']>;
type PartIn = Exclude<ContentIn, string>[number];
/** `at` is the path of the content. */
export const toChatContent = (content: ContentIn, at: string): ChatContent =>
  typeof content === 'string' ? content : content.map((part, index) => toPart(part, `${at}.${index}`));

function toPart(part: PartIn, at: string): ChatPart {
  if (part.type === 'refusal') return { type: 'text', text: part.refusal };
  const cached = nonNullFields({ cacheControl: part.cache_control });
  if (part.type === 'text' || part.type === 'input_text') return { type: 'text', text: part.text, ...cached };
  if (part.type === 'document_url') return { ...toDocument(part, at), ...cached };
  if (part.type === 'file') return { ...toFile(part.file, at), ...cached };
  const { url, detail } = part.type === 'input_image' ? { ...part, url: part.image_url } : part.image_url;
  if (isPdfUri(url)) return { ...toFilePart({ at, data: url }), ...cached };
  return { type: 'image', url, ...nonNullFields({ detail }), ...cached };
}

const isPdfUri = (value: unknown): boolean => typeof value === 'string' && /^data:application\/pdf[;,]/i.test(value);

const toDocument = (
  { document_url: address, document_name: name }: z.infer<typeof DocumentPart>,
  at: string,
): ChatPart => toFilePart({ at, name, ...urlOrData(address) });

/** Some programs send the URL of a PDF as its data. */
const urlOrData = (text: string) => (/^https?:/i.test(text) ? { url: text } : { data: text });

function toFile(
  { file_data: data, filename: name, file_id: id }: z.infer<typeof FilePart>['file'],
  at: string,
): ChatPart {
  if (isNonNull(data)) return toFilePart({ at, name, ...urlOrData(data) });
  if (isNonNull(id)) throw notStored(`${at}.file.file_id`, 'Send the file as a data URI in file_data.');
  throw missingFile(`${at}.file.file_data`);
}
