import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PATIENCE } from './patience.ts'

/** A request that a webhook receiver got. */
export interface Received {
  headers: Record<string, string>
  body: string
  /** Real time, Unix milliseconds. */
  at: number
}

/** An app that receives events: a real HTTP server on loopback. */
export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** Sets how it responds from now on. Without an argument, it responds with 200. */
  behave(answer?: (request: Received, response: ServerResponse, raw: IncomingMessage) => void): void
  /** Polls until this many requests have arrived; fails on timeout. */
  waitFor(count: number, ms?: number): Promise<Received[]>
  close(): Promise<void>
}

/** Starts a receiver. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let answer: Parameters<Receiver['behave']>[0]
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const headers = request.headers as Record<string, string>
      const one = { headers, body: Buffer.concat(chunks).toString(), at: Date.now() }
      received.push(one)
      if (answer) answer(one, response, request)
      else response.end('ok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    behave: (next) => void (answer = next),
    async waitFor(count, ms = PATIENCE) {
      const end = Date.now() + ms
      while (received.length < count) {
        if (Date.now() > end) throw new Error(`${received.length} requests instead of ${count}`)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      return received
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
