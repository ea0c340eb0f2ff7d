/** Compares this machine's clock with the Date header of web servers. */
import { request } from 'node:https'
import type { Finding } from '../mail/finding.ts'

/** Time limit per server, in milliseconds. */
const TIMEOUT = 5000
/**
 * Difference above which there is a warning, in milliseconds. The header has whole seconds and the network adds delay,
 * so smaller differences mean nothing.
 */
const WARN_MS = 30_000
/** Difference from which DKIM signatures, certificates and sessions fail, in milliseconds. */
const FAIL_MS = 300_000

/** The time of a server, in Unix milliseconds, or the reason why it is unknown. */
export type RemoteTime = { origin: string } & ({ at: number } | { note: string })

/** Requests the time from an origin. Never rejects. */
export function fetchTime(origin: string, timeoutMs: number = TIMEOUT): Promise<RemoteTime> {
  return new Promise((resolve) => {
    const asking = request(
      origin,
      // With a wrong clock, every certificate may seem to have expired. Only the date is used.
      { method: 'HEAD', rejectUnauthorized: false, timeout: timeoutMs, agent: false },
      (response) => {
        response.destroy()
        const at = Date.parse(response.headers.date ?? '')
        resolve(Number.isNaN(at) ? { origin, note: 'sent no date' } : { origin, at })
      },
    )
    asking.on('timeout', () =>
      asking.destroy(new Error(`did not respond within ${timeoutMs / 1000} seconds`)),
    )
    asking.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ origin, note: error.code ?? error.message }),
    )
    asking.end()
  })
}

/**
 * Evaluates the difference between the clocks.
 *
 * @param now this machine's time when the remote time arrived, in Unix milliseconds
 */
export function evaluateTime(remote: readonly RemoteTime[], now: number): Finding {
  const about = { id: 'clock', title: 'Clock' }
  const known = remote.find((one) => 'at' in one)
  if (!known || !('at' in known))
    return {
      ...about,
      status: 'skipped',
      found: `No web server returned the time: ${remote.map((one) => `${one.origin} ${'note' in one ? one.note : ''}`).join('; ')}.`,
      advice: null,
    }
  const off = now - known.at
  const [size, way] = [Math.round(Math.abs(off) / 1000), off > 0 ? 'ahead of' : 'behind']
  if (Math.abs(off) < WARN_MS)
    return { ...about, status: 'ok', found: `The clock agrees with ${known.origin}.`, advice: null }
  return {
    ...about,
    status: Math.abs(off) < FAIL_MS ? 'warning' : 'failed',
    found: `The clock is ${size} seconds ${way} ${known.origin}. Retries, signatures and certificates depend on it.`,
    advice: 'Synchronize it with NTP: timedatectl set-ntp true.',
  }
}
