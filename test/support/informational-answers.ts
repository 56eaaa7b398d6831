/** What a server may send before its answer (RFC 9110 §15.2), by name. */
export const informational: [name: string, bytes: string][] = [
  ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['100 of HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\n'],
  ['100 without a reason, with a header', 'HTTP/1.1 100\r\nserver: x\r\n\r\n'],
  ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ['103', 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n'],
  [
    '100 twice, then 102 and 103',
    ['100 Continue', '100 Continue', '102 Processing', '103 Early Hints']
      .map((line) => `HTTP/1.1 ${line}\r\n\r\n`)
      .join(''),
  ],
];
