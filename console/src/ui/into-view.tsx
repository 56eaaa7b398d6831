import type { ReactNode } from 'react';

/** Shows what has just come, although the dialog or the page was longer than the window. */
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
