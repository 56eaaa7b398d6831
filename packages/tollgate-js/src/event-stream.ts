/** One event of `text/event-stream`. */
export interface ServerEvent {
  /** Empty for an event without one. */
  id: string;
  type: string;
  data: string;
}

/** The gateway writes at least a comment every 15 s. A longer silence means that the connection is lost. */
const SILENCE_MS = 45_000;

/**
 * The events of a body as they arrive. `onRetry` receives the milliseconds after which the server wants the client to connect again. Throws if
 * the connection breaks off or is silent for 45 s.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onRetry: (ms: number) => void,
): AsyncGenerator<ServerEvent, void, undefined> {
  let event = noEvent;
  for await (const line of linesOf(body)) {
    if (line === '') {
      if (event.data !== '') yield event;
      event = noEvent;
      continue;
    }
    const [, field = '', text = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === 'id') event = { ...event, id: text };
    else if (field === 'event') event = { ...event, type: text };
    else if (field === 'data') event = { ...event, data: event.data === '' ? text : `${event.data}\n${text}` };
    else if (field === 'retry' && /^\d+$/.test(text)) onRetry(Number(text));
  }
}

const noEvent: ServerEvent = { id: '', type: 'message', data: '' };

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let unfinished = '';
  try {
    for (;;) {
      const { value, done } = await within(SILENCE_MS, reader.read());
      if (done) return;
      const lines = (unfinished + decoder.decode(value, { stream: true })).split('\n');
      unfinished = lines.pop() ?? '';
      for (const line of lines) yield line.replace(/\r$/, '');
    }
  } finally {
    // Closes the connection if the reader leaves before the end.
    await reader.cancel().catch(() => undefined);
  }
}

async function within<T>(ms: number, reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The stream was silent for ${ms / 1_000} s.`)), ms);
  });
  try {
    return await Promise.race([reading, silence]);
  } finally {
    clearTimeout(timer);
  }
}
