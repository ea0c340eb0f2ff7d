/**
 * The program of the container's HEALTHCHECK. It is bundled apart from the command line, because Docker runs it every 30 seconds.
 * Docker reads the exit code, 0 or 1; `docker inspect` shows the line.
 */
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { readDaemonRun } from './daemon-file.ts'

/** What was found; `words` is one line for people. */
export interface Checked {
  ok: boolean
  words: string
}

/** How long the daemon may take to answer (milliseconds). */
const ANSWER_MS = 8000

/** Asks the daemon of a data directory whether its event loop turns and its storage answers: GET /healthz where it listens. */
export async function checkHealth(dataDir: string): Promise<Checked> {
  const listening = readDaemonRun(dataDir)?.run.listeners ?? []
  const origin = listening.find((one) => /^https?:/.test(one))
  if (origin === undefined)
    return { ok: false, words: `The daemon is not listening yet: there is no daemon.json in ${dataDir}.` }
  const url = healthUrl(origin)
  try {
    const { status, body } = await get(url)
    return { ok: status === 200, words: `${url.href} answered ${status}: ${body.trim()}` }
  } catch (error) {
    // Nobody listens, or nobody answers: that is a finding, and no fault of the check.
    return { ok: false, words: `${url.href} did not respond: ${(error as Error).message}` }
  }
}

/** Where to ask a listener: one that is bound to all addresses is asked on loopback. Pure. */
export function healthUrl(origin: string): URL {
  const url = new URL('/healthz', origin)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url
}

function get(url: URL): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      signal: AbortSignal.timeout(ANSWER_MS),
      // The daemon of this machine, asked by address: the name in its certificate says nothing.
      rejectUnauthorized: false,
    }
    const request = url.protocol === 'https:' ? requestTls(url, options) : requestPlain(url, options)
    request.on('error', reject)
    request.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => (body += text))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    request.end()
  })
}

if (import.meta.main) {
  const { ok, words } = await checkHealth(process.env.POSTHASTE_DATA_DIR ?? '/var/lib/posthaste')
  process.stdout.write(`${words}\n`)
  process.exitCode = ok ? 0 : 1
}
