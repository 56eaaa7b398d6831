import { describe, expect, it } from '@jest/globals';
import { V1ImageUrl } from '../../../src/http/dialects/picture-url.ts';

const bytes = 'iVBORw0KGgo=';

describe('a picture of a client under /v1', () => {
  it.each([
    ['https://example.com/a.png', 'https://example.com/a.png'],
    [`data:image/png;base64,${bytes}`, `data:image/png;base64,${bytes}`],
    [`data:image/jpg;base64,${bytes}`, `data:image/jpg;base64,${bytes}`],
    [`data:image/heic;base64,${bytes}`, `data:image/heic;base64,${bytes}`],
    [`data:image/png;charset=utf-8;base64,${bytes}`, `data:image/png;base64,${bytes}`],
    [`data:image/webp;name=a.webp;charset=utf-8;base64,${bytes}`, `data:image/webp;base64,${bytes}`],
  ])('is sent as %s', (url, sent) => {
    expect(V1ImageUrl.parse(url)).toBe(sent);
  });

  it.each([
    `data:image/svg+xml;base64,${bytes}`,
    `data:image/avif;base64,${bytes}`,
    `data:text/html;base64,${bytes}`,
    'data:image/png;base64,',
    'data:image/png;base64,not base64!',
    `data:image/png,${bytes}`,
    'a.png',
  ])('is refused: %s', (url) => {
    expect(V1ImageUrl.safeParse(url).success).toBe(false);
  });
});
