import { describe, expect, it } from '@jest/globals';
import { addressMatcher, isPublicAddress } from '../../../src/platform/egress/public-address.ts';

const notPublic = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '100.100.100.200',
  '::',
  '::1',
  '::127.0.0.1',
  '::a9fe:a9fe',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:0:8.8.8.8',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '100::1',
  '100:0:0:1::1',
  '2001::1',
  '2001:0:4136:e378::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:808:808::1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'e000::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd12:3456:789a::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
];
const nonsense = [
  '',
  'localhost',
  '127.1',
  '0x7f.0.0.1',
  '2130706433',
  '0177.0.0.1',
  '8.8.8',
  '8.8.8.8.8',
  '[::1]',
  '8.8.8.8/8',
  ' 8.8.8.8',
  '2606:4700::1111%1',
];

describe('isPublicAddress', () => {
  it.each(notPublic)('calls %s not public', (ip) => expect(isPublicAddress(ip)).toBe(false));
  it.each(nonsense)('calls %j not public, because it is not an address', (ip) =>
    expect(isPublicAddress(ip)).toBe(false),
  );
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::200e',
  ])('calls %s public', (ip) => expect(isPublicAddress(ip)).toBe(true));
});

describe('addressMatcher', () => {
  it('matches addresses inside its ranges only, and never across families', () => {
    const matches = addressMatcher(['127.0.0.0/8', '::1/128']);
    expect(['127.0.0.1', '127.9.9.9', '::1'].every(matches)).toBe(true);
    expect(['128.0.0.1', '::2', '::ffff:127.0.0.1', 'localhost', ''].some(matches)).toBe(false);
  });

  it('names an invalid range in its error', () => {
    expect(() => addressMatcher(['127.0.0.1/40'])).toThrow('127.0.0.1/40');
    expect(() => addressMatcher(['loopback'])).toThrow('loopback');
  });
});
