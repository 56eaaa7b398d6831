import { describe, expect, it } from '@jest/globals';
import { EgressRefusal, type EgressReason } from '../../../src/platform/egress/check-url.ts';
import { createEgress } from '../../../src/platform/egress/egress.ts';

const strict = createEgress({ allowCidrs: [], callbackPorts: [8443] });
const permissive = createEgress({ allowCidrs: ['127.0.0.0/8', '::1/128'], callbackPorts: [] });

const reasonFor = (text: string, egress = strict): EgressReason | 'accepted' => {
  try {
    egress.checkUrl(text, { purpose: 'callback' });
    return 'accepted';
  } catch (error) {
    if (error instanceof EgressRefusal) return error.reason;
    throw error;
  }
};

describe('checkUrl', () => {
  it.each([
    ['', 'malformed'],
    ['hooks.example/x', 'malformed'],
    ['/relative', 'malformed'],
    ['//hooks.example/x', 'malformed'],
    ['https://', 'malformed'],
    ['https:///x', 'malformed'],
    ['https:/hooks.example', 'malformed'],
    ['https:hooks.example', 'malformed'],
    ['https:\\\\hooks.example', 'malformed'],
    ['https://hooks.example\\@127.0.0.1/', 'malformed'],
    ['https://hooks.example/a b', 'malformed'],
    [' https://hooks.example/', 'malformed'],
    ['https://hooks.example/\r\nx: y', 'malformed'],
    ['https://hooks.exa\tmple/', 'malformed'],
    ['https://hooks.example/\u0000', 'malformed'],
    ['https://hooks.example/\u0085', 'malformed'],
    ['https://hooks.example/\ud800', 'malformed'],
    ['https://::1', 'malformed'],
    ['https://::1/', 'malformed'],
    ['https://[127.0.0.1]/', 'malformed'],
    ['https://[fe80::1%25eth0]/', 'malformed'],
    ['https://hooks.example:99999/', 'malformed'],
    ['https://1.2.3.4.5/', 'malformed'],
    ['http://hooks.example/', 'scheme'],
    ['ftp://hooks.example/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['gopher://127.0.0.1:6379/_x', 'scheme'],
    ['https://user@hooks.example/', 'userinfo'],
    ['https://user:pass@hooks.example/', 'userinfo'],
    ['https://:pass@hooks.example/', 'userinfo'],
    ['https://127.0.0.1@hooks.example/', 'userinfo'],
    ['https://hooks.example:22/', 'port'],
    ['https://hooks.example:80/', 'port'],
    ['https://localhost/', 'host'],
    ['https://LOCALHOST/', 'host'],
    ['https://localhost./', 'host'],
    ['https://api.localhost/', 'host'],
    ['https://printer.local/', 'host'],
    ['https://metadata.google.internal/', 'host'],
    ['https://metadata.google.internal./', 'host'],
    ['https://router.home.arpa/', 'host'],
    ['https://intranet/', 'host'],
    ['https://intranet./', 'host'],
    ['https://hooks..example/', 'host'],
    ['https://hooks.example../', 'host'],
    [`https://${'a'.repeat(64)}.example/`, 'host'],
    ['https://127.0.0.1/', 'address'],
    ['https://127.1/', 'address'],
    ['https://2130706433/', 'address'],
    ['https://0x7f.1/', 'address'],
    ['https://0177.0.0.1/', 'address'],
    ['https://①②⑦.0.0.1/', 'address'],
    ['https://127。0。0。1/', 'address'],
    ['https://127.0.0.1./', 'address'],
    ['https://0/', 'address'],
    ['https://0.0.0.0/', 'address'],
    ['https://10.1.2.3/', 'address'],
    ['https://172.16.0.1/', 'address'],
    ['https://192.168.1.1/', 'address'],
    ['https://169.254.169.254/latest/meta-data/', 'address'],
    ['https://100.64.0.1/', 'address'],
    ['https://168.63.129.16/', 'address'],
    ['https://224.0.0.1/', 'address'],
    ['https://255.255.255.255/', 'address'],
    ['https://[::1]/', 'address'],
    ['https://[::]/', 'address'],
    ['https://[::ffff:127.0.0.1]/', 'address'],
    ['https://[::ffff:7f00:1]/', 'address'],
    ['https://[64:ff9b::127.0.0.1]/', 'address'],
    ['https://[2002:7f00:1::]/', 'address'],
    ['https://[2001::1]/', 'address'],
    ['https://[fd00:ec2::254]/', 'address'],
    ['https://[fe80::1]/', 'address'],
    ['https://[4000::1]/', 'address'],
  ] as const)('refuses %j because of its %s', (text, reason) => {
    expect(reasonFor(text)).toBe(reason);
  });

  it.each([
    ['https://hooks.example', 'https://hooks.example/'],
    ['HTTPS://Hooks.Example/Path?q=1', 'https://hooks.example/Path?q=1'],
    ['https://hooks.example:443/', 'https://hooks.example/'],
    ['https://hooks.example:8443/', 'https://hooks.example:8443/'],
    ['https://EXAMPLE。com/', 'https://example.com/'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://a_b.example/', 'https://a_b.example/'],
    ['https://8.8.8.8/', 'https://8.8.8.8/'],
    ['https://[2606:4700:4700::1111]/', 'https://[2606:4700:4700::1111]/'],
    ['https://localhost.example.com/', 'https://localhost.example.com/'],
  ])('accepts %s as %s', (text, normalised) => {
    expect(strict.checkUrl(text, { purpose: 'callback' })).toBe(normalised);
  });

  it('accepts 2,048 characters and not one more, as sent or normalised', () => {
    const url = `https://hooks.example/${'x'.repeat(2_048)}`;
    expect(reasonFor(url.slice(0, 2_048))).toBe('accepted');
    expect(reasonFor(url.slice(0, 2_049))).toBe('too_long');
    expect(reasonFor(`https://hooks.example/${'é'.repeat(1_000)}`)).toBe('too_long');
  });

  it.each([
    [1, 'port'],
    [25, 'port'],
    [80, 'port'],
    [1_023, 'port'],
    [443, 'accepted'],
    [1_024, 'accepted'],
    [8_080, 'accepted'],
    [8_443, 'accepted'],
    [65_535, 'accepted'],
  ] as const)('takes a callback to port %i, while no port is configured: %s', (port, expected) => {
    const open = createEgress({ allowCidrs: [], callbackPorts: [] });
    for (const host of ['hooks.example', '93.184.216.34', '[2606:2800:220:1::1]'])
      expect([host, reasonFor(`https://${host}:${port}/hook`, open)]).toEqual([host, expected]);
    const inputs = (text: string) => open.checkUrl(text, { purpose: 'input' });
    if (port !== 443) expect(() => inputs(`https://pictures.example:${port}/a.png`)).toThrow(EgressRefusal);
  });

  it('narrows the ports of a callback to 443 and the configured ones', () => {
    expect(['', ':8443', ':9443', ':1024'].map((port) => reasonFor(`https://hooks.example${port}/`))).toEqual([
      'accepted',
      'accepted',
      'port',
      'port',
    ]);
  });

  it('allows the extra ports for callbacks only', () => {
    expect(() => strict.checkUrl('https://hooks.example:8443/', { purpose: 'input' })).toThrow(EgressRefusal);
    expect(() => strict.checkUrl('https://hooks.example:8443/', { purpose: 'output' })).toThrow(EgressRefusal);
  });

  it('exempts only literal addresses in an allowed range from the rules about scheme, port and host', () => {
    for (const text of ['http://127.0.0.1:9/x', 'https://127.0.0.1:9/x', 'http://[::1]:9/'])
      expect(reasonFor(text, permissive)).toBe('accepted');
    expect(reasonFor('http://localhost:9/', permissive)).toBe('scheme');
    expect(reasonFor('https://localhost/', permissive)).toBe('host');
    expect(reasonFor('http://10.0.0.1/', permissive)).toBe('scheme');
    expect(reasonFor('https://10.0.0.1/', permissive)).toBe('address');
    expect(reasonFor('http://user@127.0.0.1/', permissive)).toBe('userinfo');
    expect(reasonFor('ftp://127.0.0.1/', permissive)).toBe('scheme');
    expect(reasonFor('http:///127.0.0.1/', permissive)).toBe('malformed');
    expect(reasonFor('http://[::ffff:127.0.0.1]/', permissive)).toBe('scheme');
  });

  it('warns about an allowed range, and has no warning without one', () => {
    expect(permissive.warnings.join()).toContain('127.0.0.0/8');
    expect(strict.warnings).toEqual([]);
  });
});
