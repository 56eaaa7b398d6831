import { Group, Modal, type ModalProps } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';

/** The control outside of dialogs and menus that had the focus last. */
let control: HTMLElement | null = null;
document.addEventListener('focusin', ({ target }) => {
  if (target instanceof HTMLElement && target.closest('[role=dialog], [role=menu]') === null) control = target;
});

let openDialogs = 0;

/**
 * A dialog. Its end gives the focus back to the control that opened it. Mantine's own way fails for a dialog that an item of a menu opened,
 * because the item is gone by then, and for one that is mounted open.
 */
export function Dialog(props: ModalProps) {
  const { opened } = props;
  useEffect(() => {
    if (!opened) return undefined;
    openDialogs += 1;
    const opener = control;
    return () => {
      openDialogs -= 1;
      setTimeout(() => giveFocusBack(opener), 20);
    };
  }, [opened]);
  return <Modal {...presentation} {...props} returnFocus={false} />;
}

/** The buttons of a dialog. They stay in sight while the rest of a long dialog scrolls. */
export const DialogActions = ({ children }: { children: ReactNode }) => (
  <Group justify="flex-end" gap="xs" className="dialog-actions">
    {children}
  </Group>
);

/** The header of a dialog is no banner of the page. */
const presentation = { closeButtonProps: { 'aria-label': 'Close' }, attributes: { header: { role: 'presentation' } } };

/** A control that the action removed leaves the focus to the page. A dialog that followed keeps it. */
function giveFocusBack(opener: HTMLElement | null): void {
  if (openDialogs > 0) return;
  const target = opener?.isConnected ? opener : (drawnAnew(opener) ?? document.getElementById('main'));
  target?.focus({ preventScroll: true });
}

/** The only control that is called the same: a window that gets narrow or wide draws the rows of a list anew. */
function drawnAnew(gone: HTMLElement | null): HTMLElement | undefined {
  const namesakes = gone
    ? [...document.querySelectorAll<HTMLElement>(gone.localName)].filter((other) => nameOf(other) === nameOf(gone))
    : [];
  return namesakes.length === 1 ? namesakes[0] : undefined;
}

const nameOf = (control: HTMLElement): string => control.ariaLabel ?? control.textContent;
