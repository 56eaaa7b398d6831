/** The data of each Server-Sent Event of an answer, in order, without the closing `[DONE]`. */
export async function* eventData(response: Response): AsyncGenerator<unknown> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trim())
        .join('\n');
      if (data !== '' && data !== '[DONE]') yield JSON.parse(data) as unknown;
    }
  }
}

/** The parts of a chunk that the console reads. */
export interface ChatChunk {
  choices?: { delta?: { content?: string | null; reasoning_content?: string | null }; finish_reason?: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  tollgate?: { credits: number };
  error?: { message: string };
}
