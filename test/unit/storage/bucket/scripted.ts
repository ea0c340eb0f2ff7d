/** An S3 server that answers with prepared responses, for faults that a real one doesn't have on request. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MessageBucket, type BucketOptions } from '../../../../appliance/storage/bucket/bucket.ts'

export interface Answer {
  status: number
  headers?: Record<string, string>
  body?: string
}

/** What to do with a request: answer it, or take it and close the connection, or never answer. */
export type Step = Answer | 'lost' | 'silent'

export interface ScriptedServer {
  readonly endpoint: string
  /** The requests so far. */
  readonly requests: { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer }[]
  close(): Promise<void>
}

/** Starts a server that answers the first requests with these steps. Further ones get status 500. */
export async function startScripted(steps: Step[]): Promise<ScriptedServer> {
  const requests: ScriptedServer['requests'] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    requests.push({ method, url, headers, body: Buffer.concat(chunks) })
    const step = steps[requests.length - 1] ?? { status: 500 }
    if (step === 'silent') return
    if (step === 'lost') request.socket.destroy()
    else response.writeHead(step.status, step.headers).end(method === 'HEAD' ? undefined : step.body)
  }
  const server = createServer((request, response) => void answer(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

export const WRITER = 'ab'.repeat(8)

/** Opens a bucket as a daemon does that stores new messages in it. */
export const openBucket = (
  options: Pick<BucketOptions, 'endpoint' | 'bucket'> & Partial<BucketOptions>,
): MessageBucket =>
  new MessageBucket({
    region: 'us-east-1',
    accessKeyId: 'key',
    secretAccessKey: 'secret',
    pathStyle: true,
    prefix: 'posthaste/',
    largestRow: 64_000,
    writer: WRITER,
    isWritten: true,
    isServing: true,
    ...options,
  })
