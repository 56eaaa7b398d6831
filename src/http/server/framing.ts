/** How the events of an answer are put into its body. One object is for one answer. */
export interface Framing {
  contentType: string;
  /** Puts Server-Sent Events into the body. */
  put(events: string): string;
  /** Keeps a silent connection open and means nothing to the reader. */
  silence(): string;
  /** What follows the last event. */
  readonly end: string;
}

/** Server-Sent Events as they are; `silence` is sent after a silence (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export const asEvents = (silence = ': the answer is on its way\n\n'): Framing => ({
  contentType: 'text/event-stream; charset=utf-8',
  put: (events) => events,
  silence: () => silence,
  end: '',
});

/**
 * The data of the events as the elements of one JSON array, which is how Google's API streams without `alt=sse`. Stored answers are
 * Server-Sent Events, so that a replay may ask for either format.
 */
export function asJsonArray(): Framing {
  // Google's readers in Python expect it as the first byte, so not even a blank may come before it.
  let before = '[';
  return {
    contentType: 'application/json; charset=utf-8',
    put(events) {
      const text = before + dataOf(events).join(ELEMENTS_APART);
      before = ELEMENTS_APART;
      return text;
    },
    silence() {
      if (before !== '[') return '\n';
      before = '';
      return '[';
    },
    end: ']',
  };
}

const ELEMENTS_APART = ',\r\n';

const dataOf = (events: string): string[] =>
  events
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length));
