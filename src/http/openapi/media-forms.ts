import { z } from 'zod';
import { promptCharactersMax } from '../../domain/catalog/parameters.ts';
import { editedPicturesMax } from '../dialects/openai/openai-image.ts';

/** The prompt of every media model, which the catalog's rules check on all routes alike. */
export const Prompt = z.string().min(1).max(promptCharactersMax).regex(/\S/);

/** One part of a form with the bytes of a picture. Its declared type does not count. */
const file = z.string().meta({ format: 'binary' });
/** Each value is text. Fields of text keep it, in others `2` and `true` become a number and a boolean, as `readFormBody` reads them. */
const others = z.union([z.string(), z.number(), z.boolean()]);

/** The form of `POST /v1/images/edits`: the fields of its JSON, with pictures as files. */
export const EditForm = z
  .object({
    model: z.string().min(1).max(200),
    prompt: Prompt,
    image: z.union([file, z.array(file).min(1).max(editedPicturesMax)]).optional(),
    'image[]': z
      .array(file)
      .min(1)
      .max(editedPicturesMax)
      .optional()
      .describe('The same as `image`, one part for each.'),
    size: z.string().min(1).max(50).optional(),
    response_format: z.enum(['url', 'b64_json', 'base64']).optional(),
    user: z.string().max(512).optional(),
    safety_identifier: z.string().max(512).optional(),
  })
  .catchall(others)
  .meta({ id: 'OpenaiEditForm' });

/** The form of `POST /v1/videos`: the fields of its JSON, with the pictures as files, a URL or the id of an upload. */
export const VideoForm = z
  .object({
    model: z.string().min(1).max(200),
    prompt: Prompt,
    seconds: z
      .string()
      .regex(/^[1-9]\d{0,3}$/)
      .optional(),
    size: z.string().min(1).max(50).optional(),
    input_reference: z.union([file, z.array(file).min(1).max(editedPicturesMax)]).optional(),
    'input_reference[]': z
      .array(file)
      .min(1)
      .max(editedPicturesMax)
      .optional()
      .describe('The same as `input_reference`, one part for each.'),
    'input_reference[image_url]': z.string().min(1).optional(),
    'input_reference[file_id]': z.string().min(1).optional(),
  })
  .catchall(others)
  .meta({ id: 'OpenaiVideoForm' });
