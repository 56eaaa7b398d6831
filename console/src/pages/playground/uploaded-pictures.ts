import type { UploadedFile } from '../../api/client-types.ts';
import type { ClientApi } from '../../api/playground.ts';

/** The pictures that this page has uploaded, by their ids, to be shown: the gateway serves only results. */
const previews = new Map<string, string>();

/** Uploads a picture for an input of a model. Returns its id. */
export async function uploadPicture(api: ClientApi, file: File): Promise<string> {
  const form = new FormData();
  form.append('file', file);
  const { id } = await api.json<UploadedFile>('/api/v1/images/upload', { method: 'POST', body: form });
  previews.set(id, URL.createObjectURL(file));
  return id;
}

/** An address at which the page can show an input, unless it was uploaded elsewhere. */
export const previewOf = (input: string): string | undefined => previews.get(input);
