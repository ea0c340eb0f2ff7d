import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import * as fc from '../../world/fast-check.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createResolver } from '../../../appliance/dns/resolver.ts'
import { createTestClock } from '../../world/clock.ts'

/** A server that answers every query with the right ID, followed by bytes that the test chooses. */
let server: Socket
let payload = Buffer.alloc(0)
let resolver: ReturnType<typeof createResolver>

beforeAll(async () => {
  server = createSocket('udp4')
  server.on('message', (query, from) => {
    server.send(Buffer.concat([query.subarray(0, 2), payload]), from.port, from.address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  resolver = createResolver({
    servers: [`127.0.0.1:${server.address().port}`],
    clock: createTestClock(),
    timeoutMs: 2,
  })
})

afterAll(() => {
  resolver.close()
  server.close()
})

test('a response of random bytes with the right ID is a failure, not a crash or an answer', async () => {
  let n = 0
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (random) => {
      payload = Buffer.from(random)
      const answer = await resolver.resolve(`n${n++}.test`, 'MX')
      expect(answer.kind).toBe('failed')
    }),
    { numRuns: 150 },
  )
})
