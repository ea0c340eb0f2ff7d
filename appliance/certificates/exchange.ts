/** HTTPS requests to an ACME server. The URLs come from the operator and from the server itself; TLS is required. */
import { request } from 'node:https'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../clock/clock.ts'

/** Maximum response size in octets. A certificate chain has about 6000. */
const MAX_ANSWER = 262_144
/** Time limit of a request and its response, in milliseconds. */
const DEADLINE = 30_000

/** A response of the ACME server. */
export interface AcmeResponse {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Makes a request; rejects with an error whose message describes the failure. */
export type Exchange = (method: 'GET' | 'HEAD' | 'POST', url: string, body?: string) => Promise<AcmeResponse>

/**
 * Creates the client for requests to an ACME server.
 * @param agent the User-Agent header, required by RFC 8555 §6.1
 * @param ca CA certificates (PEM) to trust instead of Node's own
 */
export function createExchange(options: {
  clock: Clock
  agent: string
  ca?: string | undefined
  signal: AbortSignal
}): Exchange {
  const { clock, agent, ca, signal } = options
  return (method, url, body) =>
    new Promise((resolve, reject) => {
      if (!URL.canParse(url) || new URL(url).protocol !== 'https:') {
        reject(new Error(`${url} is not an https:// URL.`))
        return
      }
      const fail = (error: Error): void => {
        cancel()
        reject(new Error(`${new URL(url).host} could not be reached: ${error.message}.`, { cause: error }))
      }
      const headers = {
        'user-agent': agent,
        // RFC 8555 §6.2
        ...(body === undefined ? {} : { 'content-type': 'application/jose+json' }),
      }
      const asked = request(url, { method, headers, ca, signal, agent: false }, (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > MAX_ANSWER)
            response.destroy(new Error(`its response is larger than ${MAX_ANSWER} bytes`))
          else chunks.push(chunk)
        })
        response.on('error', fail)
        response.on('end', () => {
          cancel()
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
        })
      })
      const late = new Error(`no response within ${DEADLINE / 1000} seconds`)
      const cancel = clock.after(DEADLINE, () => asked.destroy(late))
      asked.on('error', fail)
      asked.end(body)
    })
}
