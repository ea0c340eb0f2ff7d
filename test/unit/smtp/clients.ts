import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createTransport, type SendMailOptions } from 'nodemailer'
import type { Door } from './harness.ts'
import { PATIENCE } from '../../world/patience.ts'

export interface Sent {
  ok: boolean
  /** The last reply, or the program's output. */
  text: string
}

/** Sends with nodemailer. */
export async function sendWithNodemailer(
  door: Door,
  mail: SendMailOptions,
  { port = door.ports.starttls, key = door.keys.full, secure = false } = {},
): Promise<Sent> {
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    secure,
    requireTLS: !secure,
    auth: { user: 'posthaste', pass: key },
    tls: { rejectUnauthorized: false },
  })
  try {
    const sent = await transport.sendMail({
      from: 'App <app@acme.example>',
      to: 'ada@customer.example',
      subject: 'Hello',
      text: 'Hi',
      ...mail,
    })
    return { ok: true, text: sent.response }
  } catch (error) {
    return { ok: false, text: (error as { response?: string }).response ?? String(error) }
  } finally {
    transport.close()
  }
}

const run = promisify(execFile)

/** Runs a program. Returns its output as the text. */
export async function runClient(program: string, args: string[], input = ''): Promise<Sent> {
  const started = run(program, args, { timeout: PATIENCE })
  started.child.stdin?.end(input)
  try {
    const { stdout, stderr } = await started
    return { ok: true, text: stdout + stderr }
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    return { ok: false, text: stdout + stderr }
  }
}
