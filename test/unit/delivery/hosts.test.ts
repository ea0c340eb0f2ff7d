import { describe, expect, test } from 'vitest'
import { selectAddresses } from '../../../appliance/delivery/hosts.ts'
import { parseNetworks } from '../../../appliance/wire/networks.ts'

const sorted = (addresses: string[], allow: string[] = []) =>
  selectAddresses('mx.example.org', addresses, {
    resolver: { resolve: () => Promise.reject(new Error('nothing is looked up here')) },
    random: () => 0.999,
    allowNetworks: parseNetworks(allow),
    ownAddresses: () => ['198.51.100.7', '93.184.1.1', '2a00:1450::1'],
    sources: { reaches: () => true },
  })

describe('addresses of this machine’s interfaces', () => {
  test('addresses of this machine are off limits in any notation; other addresses of the same name are used', () => {
    const { addresses, forbidden } = sorted(['93.184.1.1', '93.184.1.2', '2a00:1450:0:0::1'])
    expect(addresses).toEqual(['93.184.1.2'])
    expect(forbidden).toEqual([
      '93.184.1.1 is an address of this machine',
      '2a00:1450:0:0::1 is an address of this machine',
    ])
  })

  test('addresses of this machine are used if delivery.allow_networks lists them', () => {
    const { addresses } = sorted(['93.184.1.1', '2a00:1450::1'], ['93.184.1.1/32'])
    expect(addresses).toEqual(['93.184.1.1'])
  })
})

describe('addresses in private networks', () => {
  test.each([
    ['10.0.0.5', 'in a private network (RFC 1918)'],
    ['172.20.1.1', 'in a private network (RFC 1918)'],
    ['192.168.1.1', 'in a private network (RFC 1918)'],
    ['100.64.0.9', 'in the shared address space of carrier-grade NAT (RFC 6598)'],
    ['fd12::1', 'in a private network (RFC 4193)'],
  ])(
    'an address in a private network is off limits unless delivery.allow_networks lists it: %s',
    (ip, why) => {
      expect(sorted([ip])).toMatchObject({ addresses: [], forbidden: [`${ip} is ${why}`] })
      expect(sorted([ip], [ip])).toMatchObject({ addresses: [ip], forbidden: [] })
    },
  )
})
