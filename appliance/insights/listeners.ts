/** Checks from this machine whether the daemon's own ports respond. */
import type { Finding } from '../mail/finding.ts'
import { parseHostPort } from '../wire/listeners.ts'
import { dialForGreeting, testConnection } from './connect.ts'

/** A configured listener; its protocol determines the expected response. */
export interface Listener {
  /** `host:port` as configured. */
  address: string
  /** The configuration key of the listener. */
  setting:
    | `http.${'listen' | 'tls_listen' | 'admin_listen' | 'admin_tls_listen'}`
    | 'acme.http_listen'
    | 'nameserver.listen'
    | 'smtp.starttls'
    | 'smtp.implicit_tls'
}

/** The response: from this server, from another program with its greeting, or none with the reason. */
export type ListenerProbe = Listener & ({ ours: true } | { other: string } | { nothing: string })

const TIMEOUT = 3000

/** Dials a listener. Never rejects. Skips port 0, which is chosen at each start. */
export async function probeListener(listener: Listener, hostname: string): Promise<ListenerProbe | null> {
  const { host, port } = parseHostPort(listener.address)
  if (port === 0) return null
  const ip = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  if (listener.setting !== 'smtp.starttls') {
    const why = await testConnection({ ip, port, timeoutMs: TIMEOUT })
    return why === null ? { ...listener, ours: true } : { ...listener, nothing: why }
  }
  const greeting = await dialForGreeting({ ip, port, timeoutMs: TIMEOUT })
  if (greeting.kind !== 'greeted')
    return greeting.kind === 'silent'
      ? { ...listener, other: greeting.note }
      : { ...listener, nothing: greeting.note }
  return greeting.line.startsWith(`220 ${hostname} `)
    ? { ...listener, ours: true }
    : { ...listener, other: `says "${greeting.line.slice(0, 80)}"` }
}

/** Evaluates all listeners together: if none responds, the daemon isn't running, and the listeners aren't at fault. */
export function evaluateListeners(answered: readonly ListenerProbe[]): Finding {
  const about = { id: 'listeners', title: 'Ports of the daemon' }
  const where = (one: Listener): string => `${one.address} (${one.setting})`
  const [ours, others, nothing] = [
    answered.filter((one) => 'ours' in one),
    answered.filter((one) => 'other' in one),
    answered.filter((one) => 'nothing' in one),
  ]
  if (others.length > 0)
    return {
      ...about,
      status: 'failed',
      found: `Another program is listening: ${others.map((one) => `${where(one)} ${one.other}`).join('; ')}.`,
      advice: 'Stop it (ss -ltnp shows it), or remove the port from the configuration.',
    }
  if (ours.length === 0)
    return {
      ...about,
      status: 'skipped',
      found: 'No configured port responds: the daemon is not running.',
      advice: 'Start it: systemctl start posthaste, or posthaste serve.',
    }
  if (nothing.length > 0)
    return {
      ...about,
      status: 'warning',
      found: `${nothing.map((one) => `${where(one)} ${one.nothing}`).join('; ')}; ${ours.length} of ${answered.length} ports respond.`,
      advice: "See the daemon's startup log for why it did not open a port.",
    }
  const found =
    ours.length === 1 ? 'The configured port responds.' : `All ${ours.length} configured ports respond.`
  return { ...about, status: 'ok', found, advice: null }
}
