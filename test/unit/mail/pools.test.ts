import { expect, test } from 'vitest'
import { listOtherNodeSources, computePoolFilter, type Source } from '../../../appliance/mail/source.ts'

const source = (ip: string, pool: string, state: Source['state'] = 'active'): Source => ({
  ip,
  pool,
  hostname: null,
  state,
  stateReason: null,
  suspendedBy: null,
  warmUpSince: null,
  origin: 'configuration',
  health: null,
  checkedAt: null,
})

/** What a node with the IP 192.0.2.1 may send. */
const pools = (...sources: Source[]) =>
  computePoolFilter(
    sources,
    listOtherNodeSources(
      sources,
      sources.filter(({ ip }) => ip === '192.0.2.1'),
    ),
  )

test('a node sends mail of the pools that its own IPs belong to', () => {
  const own = source('192.0.2.1', 'default')
  expect(pools(own)).toBeUndefined()
  expect(pools(own, source('192.0.2.2', 'default'))).toBeUndefined()
  expect(pools(own, source('192.0.2.2', 'bulk'))).toEqual({ pools: ['bulk'], only: false })
  // The mail of a pool without a usable IP goes the way of the default pool.
  expect(pools(own, source('192.0.2.2', 'bulk', 'suspended'))).toBeUndefined()
})

test('a node without an IP in the default pool sends only mail of its own pools', () => {
  const other = source('192.0.2.2', 'default')
  expect(pools(other)).toEqual({ pools: [], only: true })
  expect(pools(other, source('192.0.2.1', 'bulk'))).toEqual({ pools: ['bulk'], only: true })
  expect(pools(other, source('192.0.2.1', 'default', 'suspended'))).toEqual({ pools: [], only: true })
})

test('a node leases mail of all pools with the system’s default address or without any usable IP', () => {
  expect(pools(source('auto', 'default'))).toBeUndefined()
  expect(pools(source('192.0.2.2', 'default', 'suspended'))).toBeUndefined()
})
