import { createResolver, type ResolverOptions } from '../../../appliance/dns/resolver.ts'
import {
  startZoneServer,
  type Zone,
  type ZoneServer,
  type ZoneServerOptions,
} from '../../../appliance/sandbox/zone.ts'
import { afterEach, expect } from 'vitest'
import { createTestClock } from '../../world/clock.ts'

/** Shared by the resolver's tests: servers and resolvers that are closed after each test. */

/** Functions to run after each test. */
export const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** Starts a zone server. */
export async function serve(
  zone: ZoneServerOptions['zone'],
  more: Partial<ZoneServerOptions> = {},
): Promise<ZoneServer> {
  const server = await startZoneServer({ zone, ...more })
  cleanups.push(() => server.close())
  return server
}

/** Returns a resolver that uses these servers. */
export function resolverFor(servers: (ZoneServer | string)[], more: Partial<ResolverOptions> = {}) {
  const clock = createTestClock()
  const resolver = createResolver({
    servers: servers.map((server) =>
      typeof server === 'string' ? server : `${server.address}:${server.port}`,
    ),
    clock,
    // Long, so that tests about other things don't fail on a busy machine.
    timeoutMs: 2000,
    ...more,
  })
  cleanups.push(() => resolver.close())
  return { resolver, clock }
}

/** Starts a server and a resolver that uses it. Pass `SHORT` for servers that don't answer. */
export async function setUp(
  zone: Zone,
  more: Partial<ZoneServerOptions> = {},
  options: Partial<ResolverOptions> = {},
) {
  const server = await serve(zone, more)
  return { server, at: `${server.address}:${server.port}`, ...resolverFor([server], options) }
}

/** Returns the note of an answer that must be a failure. */
export const noteOf = (answer: { kind: string; note?: string }) => {
  expect(answer.kind).toBe('failed')
  return answer.note
}

/** For tests in which no server answers. */
export const SHORT = { timeoutMs: 100 }
