/** The test's webhook endpoint: accepts everything, and records it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Ledger, ReceivedWebhook } from './ledger.ts'

/** Starts listening on loopback. */
export async function startEndpoint({
  told,
}: Pick<Ledger, 'told'>): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    // Only complete requests count: one cut off by a kill has no end.
    request.on('end', () => {
      told.push(readTold(request.headers['svix-id'], Buffer.concat(parts).toString()))
      response.writeHead(204).end()
    })
  })
  // Expected, because the daemon dies during requests.
  server.on('clientError', (_error, socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Parses a request. Without an ID it is recorded as `no svix-id`, which is a fault once two events share it. */
function readTold(id: string | string[] | undefined, body: string): ReceivedWebhook {
  const { type, created_at, data } = JSON.parse(body) as {
    type: string
    created_at: string
    data: { email_id?: string; to?: string[] }
  }
  return {
    id: typeof id === 'string' ? id : 'no svix-id',
    emailId: data.email_id ?? null,
    type,
    at: Date.parse(created_at),
    to: data.to ?? [],
  }
}
