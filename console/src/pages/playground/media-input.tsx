import { Button, FileButton, Group, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ClientApi } from '../../api/playground.ts';
import type { MediaInput, Values } from './form-fields.ts';
import { previewOf, uploadPicture } from './uploaded-pictures.ts';

interface MediaInputFieldProps {
  api: ClientApi;
  name: MediaInput;
  value: Values[string];
  error: string | undefined;
  onChange: (value: Values[string]) => void;
}

const labels: Record<MediaInput, string> = {
  image: 'Picture to start from',
  reference_images: 'Reference pictures',
  video_url: 'Video to start from',
  audio_url: 'Sound',
};

/** An input of the model beside the prompt: an address, or an uploaded picture. */
export function MediaInputField({ api, name, value, error, onChange }: MediaInputFieldProps) {
  const isList = name === 'reference_images';
  const isPicture = name === 'image' || isList;
  const upload = useMutation({
    mutationFn: (file: File) => uploadPicture(api, file),
    onSuccess: (id) => onChange(isList ? [...(Array.isArray(value) ? value : []), id] : id),
  });
  const text = Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : '';
  const shown = (Array.isArray(value) ? value : [text]).flatMap((input) => previewOf(input) ?? []);
  const read = (next: string): Values[string] =>
    isList
      ? next
          .split(',')
          .map((part) => part.trim())
          .filter(Boolean)
      : next.trim();
  return (
    <Stack gap={6}>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          flex={1}
          label={labels[name]}
          description={
            isList
              ? 'Optional. Addresses, separated by commas, or paste pictures'
              : isPicture
                ? 'Optional. An https address, or paste a picture'
                : 'Optional. An https address'
          }
          value={text}
          error={error ?? upload.error?.message}
          onChange={(event) => onChange(read(event.currentTarget.value))}
        />
        {isPicture && (
          <FileButton onChange={(file) => file && upload.mutate(file)} accept="image/png,image/jpeg,image/webp">
            {(props) => (
              <Button {...props} variant="default" loading={upload.isPending} aria-label={`Upload: ${labels[name]}`}>
                Upload
              </Button>
            )}
          </FileButton>
        )}
      </Group>
      {shown.length > 0 && (
        <Group gap="xs">
          {shown.map((url) => (
            <div key={url} className="attached">
              <img src={url} alt={labels[name]} />
            </div>
          ))}
        </Group>
      )}
    </Stack>
  );
}
