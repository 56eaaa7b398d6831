import { beforeAll, describe } from '@jest/globals';
import { letModelsStream } from '../services/chat/streams.ts';
import type { Gateway } from '../support/gateway.ts';
import type { StreamScene } from './stream-scene.ts';
import { describeAiStreams } from './streams-ai.ts';
import { describeGenaiStreams } from './streams-genai.ts';
import { describeOpenaiStreams } from './streams-openai.ts';
import { describePythonStreams } from './streams-python.ts';

/** Tests of streams with unmodified client libraries. They let models stream, so they come after all tests of models that do not. */
export const describeStreaming = (started: () => Gateway): void =>
  describe('streams', () => {
    let scene: StreamScene;
    beforeAll(async () => {
      const gateway = started();
      const { apiKey } = await gateway.project({ credits: 100_000 });
      await letModelsStream(gateway, apiKey);
      scene = { gateway, apiKey };
    });

    for (const describeStreams of [
      describeOpenaiStreams,
      describeAiStreams,
      describeGenaiStreams,
      describePythonStreams,
    ])
      describeStreams(() => scene);
  });
