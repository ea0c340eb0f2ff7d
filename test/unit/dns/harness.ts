import { createResolver, type ResolverOptions } from '../../../appliance/dns/resolver.ts'
import {
  startZoneServer,
  type Zone,
  type ZoneServer,
  type ZoneServerOptions,
} from '../../../appliance/sandbox/zone.ts'
import { afterEach, expect } from 'vitest'
import { createTestClock } from '../../world/clock.ts'

/** What the tests of the resolver share: servers and resolvers that are closed after each test. */

/** Run after each test. */
export const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** A zone server. */
export async function serve(
  zone: ZoneServerOptions['zone'],
  more: Partial<ZoneServerOptions> = {},
): Promise<ZoneServer> {
  const server = await startZoneServer({ zone, ...more })
  cleanups.push(() => server.close())
  return server
}

/** A resolver that asks these servers. */
export function resolverFor(servers: (ZoneServer | string)[], more: Partial<ResolverOptions> = {}) {
  const clock = createTestClock()
  const resolver = createResolver({
    servers: servers.map((server) =>
      typeof server === 'string' ? server : `${server.address}:${server.port}`,
    ),
    clock,
    // Long, so that a busy machine does not fail what is not about time.
    timeoutMs: 2000,
    ...more,
  })
  cleanups.push(() => resolver.close())
  return { resolver, clock }
}

/** A server and a resolver that asks it; `SHORT` for servers that keep silent. */
export async function setUp(
  zone: Zone,
  more: Partial<ZoneServerOptions> = {},
  options: Partial<ResolverOptions> = {},
) {
  const server = await serve(zone, more)
  return { server, at: `${server.address}:${server.port}`, ...resolverFor([server], options) }
}

/** The note of an answer that must be a failure. */
export const noteOf = (answer: { kind: string; note?: string }) => {
  expect(answer.kind).toBe('failed')
  return answer.note
}

/** For tests in which nobody answers. */
export const SHORT = { timeoutMs: 100 }
