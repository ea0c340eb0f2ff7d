import { describe, expect, test } from 'vitest'
import {
  isInNetworks,
  isForbiddenTarget,
  parseNetworks,
  explainForbiddenTarget,
} from '../../../appliance/wire/networks.ts'

describe('target addresses', () => {
  test.each([
    ['127.0.0.1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['10.1.2.3', 'in a private network (RFC 1918)'],
    ['172.16.0.1', 'in a private network (RFC 1918)'],
    ['192.168.1.1', 'in a private network (RFC 1918)'],
    ['169.254.169.254', 'link-local'],
    ['100.64.0.1', 'in the shared address space of carrier-grade NAT (RFC 6598)'],
    ['224.0.0.1', 'multicast'],
    ['255.255.255.255', 'the broadcast address'],
    ['192.0.2.1', 'reserved for a special purpose'],
    ['198.18.0.1', 'reserved for a special purpose'],
    ['240.0.0.1', 'reserved for a special purpose'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fe80::1', 'link-local'],
    ['fe80::1%lo', 'link-local'],
    ['fd00::1', 'in a private network (RFC 4193)'],
    ['ff02::1', 'multicast'],
    ['2001:db8::1', 'reserved for a special purpose'],
    ['2001::1', 'reserved for a special purpose'],
    ['64:ff9b:1::1', 'reserved for a special purpose'],
    ['::127.0.0.1', 'outside the global unicast space 2000::/3'],
    ['4000::1', 'outside the global unicast space 2000::/3'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:a00:1', 'in a private network (RFC 1918)'],
    ['::ffff:0:127.0.0.1', 'reserved for a special purpose'],
    ['64:ff9b::169.254.169.254', 'an address that embeds 169.254.169.254, which is link-local'],
    ['2002:7f00:1::', 'an address that embeds 127.0.0.1, which is loopback'],
    ['2002:a00:1::1', 'an address that embeds 10.0.0.1, which is in a private network (RFC 1918)'],
    ['mx.example.com', 'not an IP address'],
    ['2130706433', 'not an IP address'],
    ['0x7f.1', 'not an IP address'],
    ['127.1', 'not an IP address'],
    ['', 'not an IP address'],
  ])('the address %s is forbidden: %s', (ip, why) => {
    expect(explainForbiddenTarget(ip, [])).toBe(why)
    expect(isForbiddenTarget(ip, [])).toBe(true)
  })

  test.each([
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.1',
    '100.128.0.1',
    '2a00:1450:4001::1',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
  ])('the address %s is allowed', (ip) => {
    expect(isForbiddenTarget(ip, [])).toBe(false)
  })

  test.each([
    ['93.184.1.1', 'an address of this machine'],
    ['::ffff:93.184.1.1', 'an address of this machine'],
    ['::ffff:5db8:101', 'an address of this machine'],
    ['2a00:1450:0::1', 'an address of this machine'],
    ['64:ff9b::93.184.1.1', 'an address that embeds 93.184.1.1, which is an address of this machine'],
    ['2002:5db8:101::', 'an address that embeds 93.184.1.1, which is an address of this machine'],
    ['93.184.1.2', undefined],
  ])('on a host with 93.184.1.1 and 2a00:1450::1, the reason to forbid %s is: %s', (ip, why) => {
    const own = ['93.184.1.1', '2a00:1450::1']
    expect(explainForbiddenTarget(ip, [], own)).toBe(why)
    expect(explainForbiddenTarget(ip, parseNetworks(['93.184.1.1', '2a00:1450::1']), own)).toBeUndefined()
  })

  test('an allowed network permits only its own addresses', () => {
    const networks = parseNetworks(['127.0.0.0/8', 'fd00::/8', '10.0.0.5'])
    for (const ip of ['127.9.9.9', '::ffff:127.0.0.1', 'fd12::1', '10.0.0.5']) {
      expect(isForbiddenTarget(ip, networks)).toBe(false)
    }
    for (const ip of ['10.0.0.6', '::1', 'fc00::1', '192.168.0.1', 'x']) {
      expect(isForbiddenTarget(ip, networks)).toBe(true)
    }
  })
})

describe('networks', () => {
  test('networks contain addresses, including IPv4-mapped ones', () => {
    const networks = parseNetworks([' 10.0.0.0/8 ', '::ffff:192.168.0.0/112', '2001:db8::/32', '0.0.0.0/0'])
    expect(networks.map(({ text }) => text)).toEqual([
      '10.0.0.0/8',
      '::ffff:192.168.0.0/112',
      '2001:db8::/32',
      '0.0.0.0/0',
    ])
    expect(isInNetworks('192.168.7.7', networks.slice(1, 2))).toBe(true)
    expect(isInNetworks('192.169.7.7', networks.slice(1, 2))).toBe(false)
    expect(isInNetworks('2001:db8:ffff::1', networks)).toBe(true)
    expect(isInNetworks('2001:db9::1', networks)).toBe(false)
    expect(isInNetworks('not an address', networks)).toBe(false)
  })

  test('invalid networks are all reported at once, with a hint', () => {
    expect(() =>
      parseNetworks([
        '10.0.0.0/8',
        '10.0.0.1/8',
        'fd00::1/64',
        '10.0.0.0/33',
        'localhost',
        '10.0.0.0/',
        '10/8',
        '1.2.3.4/8/8',
      ]),
    ).toThrow(
      '"10.0.0.1/8" has bits set after the prefix: did you mean 10.0.0.0/8?; ' +
        '"fd00::1/64" has bits set after the prefix: did you mean fd00::/64?; ' +
        '"10.0.0.0/33" has a prefix longer than 32 bits; ' +
        '"localhost" is not a network; use the form 10.0.0.0/8 or fd00::/8; ' +
        '"10.0.0.0/" is not a network; use the form 10.0.0.0/8 or fd00::/8; ' +
        '"10/8" is not a network; use the form 10.0.0.0/8 or fd00::/8; ' +
        '"1.2.3.4/8/8" is not a network; use the form 10.0.0.0/8 or fd00::/8',
    )
  })
})
