/**
 * The container's HEALTHCHECK. Bundled apart from the command line, because Docker runs it every 30 seconds. Docker
 * reads the exit code, 0 or 1; `docker inspect` shows the line.
 */
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'
import { readDaemonRun } from './daemon-file.ts'

/** Result of a health check; `words` is one line of text. */
export interface HealthCheckResult {
  ok: boolean
  words: string
}

/** Time limit for the daemon's response (milliseconds). */
const ANSWER_MS = 8000

/** Checks with GET /healthz whether the daemon's event loop and storage respond. */
export async function checkHealth(dataDir: string): Promise<HealthCheckResult> {
  const listening = readDaemonRun(dataDir)?.run.listeners ?? []
  const origin = listening.find((one) => /^https?:/.test(one))
  if (origin === undefined)
    return { ok: false, words: `The daemon is not listening yet: there is no daemon.json in ${dataDir}.` }
  const url = buildHealthUrl(origin)
  try {
    const { status, body } = await get(url)
    return { ok: status === 200, words: `${url.href} answered ${status}: ${body.trim()}` }
  } catch (error) {
    // No listener or no response: the daemon is unhealthy, but the check itself succeeded.
    return { ok: false, words: `${url.href} did not respond: ${(error as Error).message}` }
  }
}

/** Returns the URL to check; a listener on all addresses is reached by loopback. Pure. */
export function buildHealthUrl(origin: string): URL {
  const url = new URL('/healthz', origin)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url
}

function get(url: URL): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      signal: AbortSignal.timeout(ANSWER_MS),
      // The daemon runs on this machine. The URL has its IP address, which its certificate doesn't contain.
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
