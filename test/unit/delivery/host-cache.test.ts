import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createConnections } from '../../../appliance/delivery/connections.ts'
import { createHostMemory, UNRESPONSIVE_MS } from '../../../appliance/delivery/host-cache.ts'
import { freeAddress, likelyFreePort } from '../../world/addresses.ts'
import { createTestClock } from '../../world/clock.ts'
import { serve, simple, talk } from './talk.ts'

describe('order of a host’s addresses', () => {
  const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3']

  test('addresses keep their order if no failures are remembered', () => {
    expect(createHostMemory().order(addresses, 0)).toEqual(addresses)
  })

  test('a failed address is tried last for five minutes, several ones in their original order', () => {
    const memory = createHostMemory()
    memory.died('192.0.2.2', 0)
    memory.died('192.0.2.1', 1000)
    expect(memory.order(addresses, 2000)).toEqual(['192.0.2.3', '192.0.2.1', '192.0.2.2'])
    expect(memory.order(addresses, UNRESPONSIVE_MS)).toEqual(['192.0.2.2', '192.0.2.3', '192.0.2.1'])
    expect(memory.order(addresses, UNRESPONSIVE_MS + 1000)).toEqual(addresses)
  })

  test('orders addresses together with their host names', () => {
    const memory = createHostMemory()
    memory.died('192.0.2.1', 0)
    const places = addresses.map((ip) => ({ host: 'mx.example.test', ip }))
    expect(memory.order(places, 1).map(({ ip }) => ip)).toEqual(['192.0.2.2', '192.0.2.3', '192.0.2.1'])
  })

  test('an address returns to its place after one success', () => {
    const memory = createHostMemory()
    memory.died('192.0.2.1', 0)
    memory.lives('192.0.2.1')
    expect(memory.order(addresses, 1)).toEqual(addresses)
  })

  test('remembers a limited number of failed addresses, and forgets the oldest first', () => {
    const memory = createHostMemory()
    for (let at = 0; at <= 10_000; at++) memory.died(`2001:db8::${at.toString(16)}`, 0)
    expect(memory.order(['2001:db8::0', '2001:db8::1', '192.0.2.1'], 1)).toEqual([
      '2001:db8::0',
      '192.0.2.1',
      '2001:db8::1',
    ])
  })
})

describe('a conversation', () => {
  const inOrder = (connections: ReturnType<typeof createConnections>, ip: string, now: number) =>
    connections.memory.order([ip, '192.0.2.1'], now)[0] === ip

  test('marks an address as dead if there is no greeting, and alive again after a greeting', async () => {
    const clock = createTestClock()
    const connections = createConnections({ clock })
    const server = await serve('S: <close>', simple)
    await talk(server, { clock, connections })
    expect(inOrder(connections, server.address, clock.now())).toBe(false)
    await talk(server, { clock, connections })
    expect(inOrder(connections, server.address, clock.now())).toBe(true)
  })

  test('marks an address as dead if TCP is refused, but not if connecting failed locally', async () => {
    const clock = createTestClock()
    const connections = createConnections({ clock })
    const [refusing, own] = [freeAddress(), freeAddress()]
    const port = likelyFreePort()
    await talk({ address: refusing, port }, { clock, connections })
    expect(inOrder(connections, refusing, clock.now())).toBe(false)
    // This machine has no documentation address.
    const said = await talk({ address: own, port }, { clock, connections, localAddress: '192.0.2.200' })
    expect(Object.values(said.fates)).toEqual(['internal connect'])
    expect(inOrder(connections, own, clock.now())).toBe(true)
  })

  test('does not mark an address as dead if the greeting is a refusal', async () => {
    const clock = createTestClock()
    const connections = createConnections({ clock })
    const server = await serve('S: 554 no\n C: QUIT')
    await talk(server, { clock, connections })
    expect(inOrder(connections, server.address, clock.now())).toBe(true)
  })
})

describe('a server with broken PIPELINING', () => {
  const cleanUp: (() => void)[] = []
  afterEach(() => {
    for (const work of cleanUp.splice(0)) work()
  })

  /** Starts a server that reads only one of several pipelined commands. It drops the rest, or closes the connection. */
  async function unable(rest: 'lost' | 'end'): Promise<AddressInfo & { connections: number }> {
    const sockets: Socket[] = []
    const server = createServer((socket) => {
      sockets.push(socket)
      let body = false
      socket.on('error', () => undefined)
      socket.write('220 mx\r\n')
      socket.on('data', (chunk) => {
        const [line = '', ...more] = chunk.toString().split('\r\n')
        if (body ? !chunk.toString().endsWith('\r\n.\r\n') : false) return
        const reply = body ? '250 queued' : line.startsWith('EHLO') ? '250-mx\r\n250 PIPELINING' : '250 ok'
        const together = !body && more.length > 1
        body = line === 'DATA' && !together
        socket.write(`${body ? '354 go on' : reply}\r\n`)
        if (together && rest === 'end') socket.end()
      })
    })
    server.listen(0, freeAddress())
    cleanUp.push(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    await once(server, 'listening')
    const address = server.address() as AddressInfo
    return Object.defineProperty({ ...address, connections: 0 }, 'connections', { get: () => sockets.length })
  }

  test.each(['lost', 'end'] as const)(
    'a server with broken PIPELINING gets one command at a time next time (reaction to pipelining: %s)',
    async (rest) => {
      const clock = createTestClock()
      const connections = createConnections({ clock })
      const server = await unable(rest)
      const first = talk(server, { clock, connections })
      if (rest === 'lost') {
        await expect.poll(() => server.connections).toBe(1)
        let over = false
        void first.then(() => (over = true))
        while (!over) await clock.advance(30_000)
      }
      expect(Object.values((await first).fates)[0]).toMatch(/^(timeout|network) rcpt$/)
      expect(Object.values((await talk(server, { clock, connections })).fates)).toEqual([
        'accepted 250 queued',
      ])
      await clock.advance(13 * 3_600_000)
      expect(
        connections.memory.pipelines({ host: 'mx.self-signed.test', ip: server.address }, clock.now()),
      ).toBe(true)
      await connections.close()
    },
  )
})

test('releases a message that does not get its turn, and keeps its connection for the next message', async () => {
  const clock = createTestClock()
  const connections = createConnections({ clock })
  const server = await serve(simple)
  const turned = await talk(server, { clock, connections, mailTurn: () => null })
  expect([turned.fates, turned.lines.filter((line) => line.startsWith('mail'))]).toEqual([{}, []])
  const waits = [50, 0]
  const next = await talk(server, { clock, connections, mailTurn: () => waits.shift()! })
  expect(Object.values(next.fates)).toEqual(['accepted 250 2.0.0 queued as 1'])
  expect([server.connections.length, waits]).toEqual([1, []])
  await connections.close()
})
