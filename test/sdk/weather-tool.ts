import { z } from 'zod';

/** A tool of `runTools` of the package `openai`. It notes the city of each call in `cities` and answers `result`. */
export const weatherTool = (cities: string[], result: string) => ({
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
    parse: (text: string) => z.object({ city: z.string() }).parse(JSON.parse(text)),
    function: ({ city }: { city: string }) => {
      cities.push(city);
      return result;
    },
  },
});
