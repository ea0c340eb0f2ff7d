import { Agent, request } from 'node:http'
import { expect } from 'vitest'
import type { Answer } from '../unit/http/harness.ts'

export const numRuns = 200
/** The timeout for a run that hangs, in milliseconds. */
export const patience = { timeout: 600_000 }

/** Asserts what every response must be: no server error, and errors with exactly three keys, in order. */
export function assertShape({ status, headers, text, json }: Answer): void {
  expect(status).toBeLessThan(500)
  if (status < 400) return
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  const { statusCode, message, name } = json as Record<string, unknown>
  expect(text).toBe(JSON.stringify({ statusCode, message, name }))
  expect(statusCode).toBe(status)
  expect(message).toEqual(expect.stringMatching(/\S/))
  expect(name).toEqual(expect.stringMatching(/^[a-z_]+$/))
}

const agent = new Agent({ keepAlive: true })

/**
 * Sends a request without normalizing its path: `fetch` would resolve `..` and `%2e%2e`. Percent-encodes only what no
 * request line can contain.
 */
export async function askRaw(
  origin: string,
  method: string,
  path: string,
  body?: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const line = path.replaceAll(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character))
  const bytes = body === undefined ? undefined : Buffer.from(body)
  const type = bytes && { 'content-type': 'application/json', 'content-length': String(bytes.length) }
  return new Promise((resolve, reject) => {
    const sent = request(
      origin,
      { agent, method, path: line, headers: { ...type, ...headers } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const answered = new Headers()
          for (const [name, values = []] of Object.entries(response.headersDistinct))
            for (const value of values) answered.append(name, value)
          resolve({ status: response.statusCode!, headers: answered, text, json: parse(text) })
        })
      },
    )
    sent.on('error', reject)
    sent.end(bytes)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // Pages and sources are no JSON.
  }
}
