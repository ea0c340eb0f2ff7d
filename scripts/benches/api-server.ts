/**
 * A server under test, as a separate process.
 * usage: api-server.ts ours|bare DATA_DIR
 * ours: the appliance from the socket to the commit, without delivery. bare: a minimal server, the upper bound for any
 * implementation. Sends a `Target` to its parent and logs to standard output, as in production.
 */
import fastify from 'fastify'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SendEmail } from '../../appliance/api/sending.ts'
import { newId } from '../../appliance/mail/ids.ts'
import { Thread } from '../../appliance/storage/engine/thread.ts'
import { createLogger } from '../../appliance/watch/log.ts'
import { startApi } from '../../test/unit/http/harness.ts'

/** Address of the server, and the request to send. */
export interface Target {
  port: number
  headers: Record<string, string>
}

const [which, dataDir] = process.argv.slice(2) as ['ours' | 'bare', string]
const json = { 'Content-Type': 'application/json' }
const target = which === 'ours' ? await startOurs() : await startBare()
process.send!(target)
// Each message of the parent requests the CPU time used so far, in microseconds.
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!(user + system)
})

/** Starts the server that the API's tests use, with nothing simulated between the socket and the disk. */
async function startOurs(): Promise<Target> {
  // Requests are logged, because logging is part of the measured path.
  const { url, sending } = await startApi({ dataDir, log: createLogger('info') })
  return { port: Number(new URL(url).port), headers: { ...json, Authorization: `Bearer ${sending}` } }
}

async function startBare(): Promise<Target> {
  const file = join(dataDir, 'bare.db')
  writeFileSync(file, '')
  const writer = await Thread.start({
    name: 'bare writer',
    script: new URL('bare-writer.ts', import.meta.url),
    data: { file },
    onLost: (error) => {
      throw error
    },
  })
  const app = fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false } } })
  app.post('/emails', { schema: { body: SendEmail } }, async (request) => {
    const now = Date.now()
    const id = newId(now)
    await writer.call('insert', { id, body: JSON.stringify(request.body) }, now)
    return { id }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as { port: number }).port, headers: json }
}
