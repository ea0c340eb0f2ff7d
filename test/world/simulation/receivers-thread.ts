/**
 * The receivers' thread: runs all personalities on loopback addresses, away from the daemon's event loop. Gets a
 * `ThreadData`, sends `{ listening: port }` or `{ failed: code }`, then follows `ThreadCommand`s.
 */
import { createServer, type Server } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import { tlsOptions } from '../tls.ts'
import { PERSONALITIES } from './personalities.ts'
import type { Personality } from './personality.ts'
import { Receiver, type Living, type Surroundings } from './receiver.ts'
import { SharedTime, Timers } from './time.ts'

export interface ThreadData {
  buffer: SharedArrayBuffer
  port: number
  /** Which personality listens at which address. */
  hosts: { personality: string; host: string; address: string }[]
}

/**
 * ping: reply once all data that had arrived is read · moved: the clock was skipped ahead · records: send all records
 * so far · close: stop listening
 */
export type ThreadCommand = 'ping' | 'moved' | 'records' | 'close'

const { buffer, port, hosts } = workerData as ThreadData
const time = new SharedTime(buffer)
const timers = new Timers(
  () => time.now(),
  (due) => void (time.receiversDue = due),
)
const world: Surroundings = { time, timers, answers: [], connections: [] }

const contexts = new Map<string, SecureContext>()
function contextOf({ tls }: Personality): SecureContext | undefined {
  if (!tls || tls === 'none' || tls === 'refused' || tls === 'garbage') return undefined
  const mode = tls === 'small-hello' ? 'trusted' : tls
  if (!contexts.has(mode)) contexts.set(mode, createSecureContext(tlsOptions(mode)))
  return contexts.get(mode)
}

const living = new Map<string, Living>()
for (const personality of PERSONALITIES) {
  const rules = personality.rules?.() ?? []
  living.set(personality.name, { personality, rules, open: new Map(), secureContext: contextOf(personality) })
}

const servers: Server[] = []
async function listen(): Promise<void> {
  for (const { personality, host, address } of hosts) {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      time.note()
      new Receiver(socket, host, living.get(personality)!, world)
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen({ port, host: address, backlog: 2048 }, resolve)
    })
    servers.push(server)
  }
}

listen().then(
  () => parentPort!.postMessage({ listening: port }),
  (error: Error) =>
    parentPort!.postMessage({ failed: (error as NodeJS.ErrnoException).code ?? error.message }),
)

parentPort!.on('message', (command: ThreadCommand) => {
  if (command === 'ping') setImmediate(() => parentPort!.postMessage('pong'))
  else if (command === 'moved') {
    timers.fire()
  } else if (command === 'records') {
    parentPort!.postMessage({ records: { answers: world.answers, connections: world.connections } })
  } else {
    for (const server of servers) server.close()
    process.exit(0)
  }
})
