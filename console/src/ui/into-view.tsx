import type { ReactNode } from 'react';

/** Scrolls to its content when that appears, because a long dialog or page may show it outside the window. */
export const IntoView = ({ children }: { children: ReactNode }) => (
  // The header of a dialog stays above what scrolls.
  <div ref={show} style={{ scrollMarginTop: '4.5rem' }}>
    {children}
  </div>
);

// A function of its own, so that React calls it once for each element.
function show(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'start' });
}
