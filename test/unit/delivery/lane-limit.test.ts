import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type Connections, createConnections } from '../../../appliance/delivery/connections.ts'
import { freeAddress } from '../../world/addresses.ts'
import { createTestClock } from '../../world/clock.ts'
import { serve, talk } from './talk.ts'

/** Tests that a lane never has more open connections than allowed, as counted by the servers. */

/** Returns a generator of numbers in [0, 1) that are the same in each run (mulberry32). */
function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Counts open connections from each of our addresses over all servers, until the server closes or sees our end. */
class Count {
  readonly now = new Map<string, number>()
  readonly most = new Map<string, number>()
  connections = 0
  accepted = 0

  open(socket: Socket): void {
    const from = socket.remoteAddress!
    const open = (this.now.get(from) ?? 0) + 1
    this.connections += 1
    this.now.set(from, open)
    this.most.set(from, Math.max(this.most.get(from) ?? 0, open))
    let counted = true
    const gone = () => {
      if (counted) this.now.set(from, this.now.get(from)! - 1)
      counted = false
    }
    socket.on('error', gone).on('end', gone).on('close', gone)
    const end = socket.end.bind(socket)
    socket.end = ((text?: string) => {
      gone()
      return text === undefined ? end() : end(text)
    }) as Socket['end']
  }
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** Starts a small mail server that randomly closes connections, refuses, and delays replies. */
async function moody(count: Count, random: () => number): Promise<{ address: string; port: number }> {
  const server = createServer((socket) => {
    count.open(socket)
    let body = false
    let rest = ''
    const answer = (line: string): void => {
      const mood = random()
      if (body) {
        if (line !== '.') return
        body = false
        count.accepted += 1
        socket.write('250 queued\r\n')
        if (mood < 0.1) socket.end('421 4.4.2 enough\r\n')
        return
      }
      const command = line.slice(0, 4)
      if (command === 'QUIT') return void setTimeout(() => socket.end('221 bye\r\n'), 10 * random())
      if (command === 'MAIL' && mood < 0.05) return void socket.end('421 busy\r\n')
      if (command === 'MAIL' && mood < 0.1) return void socket.end()
      if (command === 'RCPT' && mood < 0.1) return void socket.write('550 5.1.1 no\r\n')
      if (command === 'DATA') body = true
      socket.write(command === 'DATA' ? '354 go\r\n' : '250 ok\r\n')
    }
    socket.write('220 mx\r\n')
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop()!
      for (const line of lines) if (!socket.writableEnded) answer(line)
    })
  })
  servers.push(server)
  server.listen(0, freeAddress())
  await once(server, 'listening')
  return server.address() as AddressInfo & { address: string }
}

/** Runs as many workers as the lane has permits. Each sends one message after another to any of the servers. */
async function work(
  lane: { connections: Connections; key: string; limit: number; source: string },
  targets: { address: string; port: number }[],
  messages: number,
  random: () => number,
): Promise<string[]> {
  const clock = createTestClock()
  const fates: string[] = []
  const worker = async () => {
    while (messages-- > 0) {
      const said = await talk(targets[Math.floor(random() * targets.length)]!, {
        clock,
        connections: lane.connections,
        localAddress: lane.source,
        lane: { key: lane.key, connections: lane.limit },
        messagesPerConnection: 5,
        idleMs: random() < 0.2 ? 5 : 1000,
      })
      fates.push(Object.values(said.fates)[0]!)
    }
  }
  await Promise.all(Array.from({ length: lane.limit }, worker))
  return fates
}

describe('the connection limit of a lane', () => {
  test.each([1, 2, 3])(
    'the connection limit of a lane is never exceeded, whatever servers do (run %i)',
    async (seed) => {
      const count = new Count()
      const random = dice(seed)
      const targets = await Promise.all(Array.from({ length: 5 }, () => moody(count, random)))
      const connections = createConnections({ clock: createTestClock() })
      const lanes = [1, 2, 4].map((limit) => ({
        connections,
        limit,
        key: `lane of ${limit}`,
        source: freeAddress(),
      }))
      const fates = await Promise.all(lanes.map((lane) => work(lane, targets, 100, random)))
      expect(lanes.map(({ source }) => count.most.get(source))).toEqual([1, 2, 4])
      expect(fates.map(({ length }) => length)).toEqual([100, 100, 100])
      const all = fates.flat()
      expect(all.filter((fate) => fate === 'accepted 250 queued')).toHaveLength(count.accepted)
      expect(all.filter((fate) => fate.startsWith('internal'))).toEqual([])
      expect(count.connections).toBeLessThan(300)
      await connections.close()
      await expect.poll(() => connections.count()).toEqual({ open: 0, idle: 0 })
    },
  )

  const hello = 'S: 220 mx\n C: EHLO *\n S: 250 mx\n'
  const message =
    'C: MAIL *\n S: 250 ok\n C: RCPT *\n S: 250 ok\n C: DATA\n S: 354 go\n C: <body>\n S: 250 queued\n'
  const goodbye = 'C: QUIT\n S: 221 bye\n S: <close>'

  test('closes surplus idle connections after the limit of a lane was lowered', async () => {
    const clock = createTestClock()
    const connections = createConnections({ clock })
    const say = (server: { address: string; port: number }, limit: number) =>
      talk(server, { clock, connections, lane: { key: 'lane', connections: limit } })
    const three = [await serve(hello + message + goodbye), await serve(hello + message + goodbye)]
    const last = await serve(hello + message + message)
    for (const server of [...three, last]) await say(server, 3)
    expect(connections.count()).toEqual({ open: 3, idle: 3 })
    await say(last, 1)
    await expect.poll(() => connections.count()).toEqual({ open: 1, idle: 1 })
    for (const server of three)
      expect(server.connections[0]).toMatchObject({ mismatch: null, complete: true })
  })

  test('at the connection limit, further messages wait until their attempt ends', async () => {
    const clock = createTestClock()
    const connections = createConnections({ clock })
    const slow = await serve(`${hello} C: MAIL *`)
    const busy = talk(slow, { clock, connections, lane: { key: 'lane', connections: 1 } })
    await expect.poll(() => slow.connections[0]?.complete).toBe(true)
    const other = await serve(hello + message)
    const late = talk(other, { clock, connections, lane: { key: 'lane', connections: 1 }, within: 60_000 })
    await new Promise((resolve) => setTimeout(resolve, 20))
    await clock.advance(60_000)
    const { fates } = await late
    expect(Object.values(fates)).toEqual(['internal connect'])
    expect(other.connections).toHaveLength(0)
    const next = talk(other, { clock, connections, lane: { key: 'lane', connections: 1 } })
    await clock.advance(240_000)
    await busy
    expect(Object.values((await next).fates)).toEqual(['accepted 250 queued'])
  })
})
