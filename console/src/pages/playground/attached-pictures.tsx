import { ActionIcon, Button, FileButton, Group } from '@mantine/core';
import { CloseIcon } from '../../ui/icons.tsx';

/** The pictures of a paste or a drop, which is not handled any further if it has some. */
function picturesOf(event: React.ClipboardEvent | React.DragEvent): File[] {
  const { files } = 'clipboardData' in event ? event.clipboardData : event.dataTransfer;
  const pictures = [...files].filter(({ type }) => /^image\/(png|jpeg|webp)$/.test(type));
  if (pictures.length > 0) event.preventDefault();
  return pictures;
}

/** Lets an element take pictures that are pasted or dropped. */
export const takesPictures = (add: (files: File[]) => void) => ({
  onPaste: (event: React.ClipboardEvent) => add(picturesOf(event)),
  onDrop: (event: React.DragEvent) => add(picturesOf(event)),
  onDragOver: (event: React.DragEvent) => event.preventDefault(),
});

/** Reads a picture as a `data:` address. */
export const dataUrlOf = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(typeof reader.result === 'string' ? reader.result : '');
    reader.onerror = () => reject(reader.error ?? new Error('The picture cannot be read'));
    reader.readAsDataURL(file);
  });

/** The pictures of a message that is written, each with a button that removes it, and a button that adds some. */
export function AttachedPictures({
  pictures,
  add,
  remove,
}: {
  pictures: readonly string[];
  add: (files: File[]) => void;
  remove: (index: number) => void;
}) {
  return (
    <Group gap="xs" align="flex-end">
      {pictures.map((url, index) => (
        <div key={index} className="attached">
          <img src={url} alt={`Picture ${index + 1}`} />
          <ActionIcon
            size={24}
            variant="default"
            aria-label={`Remove picture ${index + 1}`}
            onClick={() => remove(index)}
          >
            <CloseIcon size={14} />
          </ActionIcon>
        </div>
      ))}
      <FileButton multiple onChange={add} accept="image/png,image/jpeg,image/webp">
        {(props) => (
          <Button {...props} variant="subtle" size="compact-sm">
            Add pictures
          </Button>
        )}
      </FileButton>
    </Group>
  );
}
