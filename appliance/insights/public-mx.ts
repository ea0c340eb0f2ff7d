/**
 * Checks whether port 25 accepts mail: receivers that verify a sender connect to it, and delivery reports arrive there.
 */
import { connect } from 'node:net'
import type { Finding } from '../mail/finding.ts'
import { parseHostPort } from '../wire/listeners.ts'

/** The response on the public port. */
export type MxProbe =
  /** There is no listener on port 25. */
  | { kind: 'none' }
  /** No response. The check of the listeners reports that. */
  | { kind: 'silent' }
  /** The reply to RCPT, or the first refusal. */
  | { kind: 'replied'; reply: string }

const TIMEOUT = 3000

/**
 * Checks whether the listener for port 25 accepts mail to postmaster, as every MX must (RFC 5321 §4.5.1). Never
 * rejects.
 */
export async function probePublicMx(
  { starttls, mx_port: mxPort = 25 }: { starttls: readonly string[]; mx_port?: number | undefined },
  hostname: string,
): Promise<MxProbe> {
  const ports = starttls.map(parseHostPort)
  // Port 0 is chosen at each start, so it can't be checked.
  if (ports.some(({ port }) => port === 0)) return { kind: 'silent' }
  const listener = ports.find(({ port }) => port === mxPort)
  if (!listener) return { kind: 'none' }
  const { host } = listener
  const ip = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const reply = await probePostmaster(ip, mxPort, hostname)
  return reply === null ? { kind: 'silent' } : { kind: 'replied', reply }
}

/**
 * Sends the envelope of a delivery report to postmaster. Returns the last reply, or null if the connection ends early.
 */
export function probePostmaster(ip: string, port: number, hostname: string): Promise<string | null> {
  const commands = [`EHLO ${hostname}`, 'MAIL FROM:<>', `RCPT TO:<postmaster@${hostname}>`]
  return new Promise((resolve) => {
    const socket = connect({ host: ip, port })
    let text = ''
    const settle = (reply: string | null): void => {
      clearTimeout(timer)
      resolve(reply)
      if (reply === null) socket.destroy()
      else socket.end('QUIT\r\n')
    }
    const timer = setTimeout(() => settle(null), TIMEOUT)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
      // The last line of a reply has a space after its code (RFC 5321 §4.2).
      const last = /^(\d{3}) .*\r\n$/m.exec(text)
      if (!last) return
      text = ''
      const command = commands.shift()
      const refused = !last[1]!.startsWith('2')
      if (refused || command === undefined) settle(last[0].trim().slice(0, 200))
      else socket.write(`${command}\r\n`)
    })
    socket.on('error', () => settle(null))
    socket.on('close', () => settle(null))
    socket.setTimeout(TIMEOUT + 1000, () => socket.destroy())
  })
}

/**
 * Evaluates the response.
 *
 * @param hostname the target of the return paths' MX records
 */
export function evaluatePublicMx(answer: MxProbe, hostname: string): Finding {
  const about = { id: 'return-path', title: 'Return path' }
  if (answer.kind === 'silent')
    return { ...about, status: 'skipped', found: 'Nothing responds on port 25.', advice: null }
  if (answer.kind === 'none')
    return {
      ...about,
      status: 'warning',
      found: `There is no listener on port 25, where the MX records of return paths point. Delivery reports are lost, and receivers that verify senders by callback refuse mail.`,
      advice: 'Add 0.0.0.0:25 to smtp.starttls.',
    }
  return answer.reply.startsWith('250')
    ? {
        ...about,
        status: 'ok',
        found: 'Port 25 accepts delivery reports and mail to postmaster.',
        advice: null,
      }
    : {
        ...about,
        status: 'failed',
        found: `Port 25 refuses mail to postmaster@${hostname}: "${answer.reply}".`,
        advice: 'The reply says why. Until this is fixed, delivery reports are lost.',
      }
}
