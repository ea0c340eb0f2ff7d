import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { runClient, type Sent } from '../unit/smtp/clients.ts'

/** Instructions for a mail client. */
export interface Order {
  /** `clear`: without TLS or sign-in. */
  how: 'starttls' | 'implicit' | 'clear'
  /** Default 127.0.0.1. */
  host?: string
  port: number
  key: string
  /** The From header. MAIL FROM is always app@acme.example. */
  from?: string
  to?: string[]
  body?: string
}

export type Client = (order: Order) => Promise<Sent>

const SENDER = 'app@acme.example'
/** Fills in defaults, and builds the message that every program gets. */
const whole = (order: Order) => {
  const { from = SENDER, to = ['ada@customer.example'], body = 'Hi', host = '127.0.0.1', ...rest } = order
  const message = `From: ${from}\nTo: ${to[0]!}\nSubject: Hello\n\n${body}\n`
  return { ...rest, host, from, to, body, message }
}

const swaks: Client = (order) => {
  const { how, host, port, key, to, message } = whole(order)
  const tls = { starttls: ['--tls'], implicit: ['--tls-on-connect'], clear: [] }[how]
  const auth = how === 'clear' ? [] : ['--auth', 'PLAIN', '--auth-user', 'posthaste', '--auth-password', key]
  const envelope = ['--from', SENDER, '--to', to.join(',')]
  return runClient(
    'swaks',
    ['--server', host, '--port', String(port), ...envelope, ...tls, ...auth, '--data', '-'],
    message,
  )
}

const curl: Client = (order) => {
  const { how, host, port, key, to, message } = whole(order)
  const url = `${how === 'implicit' ? 'smtps' : 'smtp'}://${host}:${port}`
  const tls = how === 'starttls' ? ['--ssl-reqd'] : []
  const auth = how === 'clear' ? [] : ['--user', `posthaste:${key}`]
  const envelope = ['--mail-from', SENDER, ...to.flatMap((address) => ['--mail-rcpt', address])]
  return runClient(
    'curl',
    ['-sS', '-v', '--insecure', '--url', url, ...tls, ...auth, ...envelope, '--crlf', '--upload-file', '-'],
    message,
  )
}

/** Its configuration contains the key, so only its owner may read it. */
const msmtp: Client = async (order) => {
  const { how, host, port, key, to, message } = whole(order)
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-msmtp-'))
  const file = join(folder, 'msmtprc')
  const tls = how === 'clear' ? ['tls off'] : ['tls on', 'tls_certcheck off']
  const lines = [
    'defaults',
    'account default',
    `host ${host}`,
    `port ${port}`,
    `from ${SENDER}`,
    ...tls,
    `tls_starttls ${how === 'implicit' ? 'off' : 'on'}`,
    ...(how === 'clear' ? [] : ['auth plain', 'user posthaste', `password ${key}`]),
  ]
  try {
    await writeFile(file, `${lines.join('\n')}\n`)
    await chmod(file, 0o600)
    return await runClient('msmtp', ['-C', file, '--debug', '--', ...to], message)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const script = `
import smtplib, ssl, sys
how, host, port, key, sender, recipients = sys.argv[1:7]
context = ssl._create_unverified_context()
try:
    implicit = how == 'implicit'
    s = smtplib.SMTP_SSL(host, int(port), context=context) if implicit else smtplib.SMTP(host, int(port))
    s.set_debuglevel(1)
    if how == 'starttls': s.starttls(context=context)
    if how != 'clear': s.login('posthaste', key)
    refused = s.sendmail(sender, recipients.split(','), sys.stdin.read())
    for address, (code, text) in refused.items(): print('refused', address, code, text.decode())
except smtplib.SMTPResponseException as e:
    sys.exit('%d %s' % (e.smtp_code, e.smtp_error.decode()))
`
const smtplib: Client = (order) => {
  const { how, host, port, key, to, message } = whole(order)
  const args = [how, host, String(port), key, SENDER, to.join(',')]
  return runClient('/usr/bin/python3', ['-c', script, ...args], message)
}

const nodemailer: Client = async (order) => {
  const { how, host, port, key, from, to, body } = whole(order)
  const transport = createTransport({
    host,
    port,
    secure: how === 'implicit',
    requireTLS: how === 'starttls',
    ignoreTLS: how === 'clear',
    tls: { rejectUnauthorized: false },
    ...(how === 'clear' ? {} : { auth: { user: 'posthaste', pass: key } }),
  })
  try {
    const envelope = { from: SENDER, to }
    const sent = await transport.sendMail({ from, to: to[0]!, subject: 'Hello', text: body, envelope })
    const refused = (sent.rejectedErrors ?? []).map((error) => error.message)
    return { ok: true, text: [sent.response, ...refused].join('\n') }
  } catch (error) {
    return { ok: false, text: String(error) }
  } finally {
    transport.close()
  }
}

/** Mail programs that people use. Their output is the text, including the SMTP conversation if they print it. */
export const clients: Record<string, Client> = {
  swaks,
  curl,
  msmtp,
  "Python's smtplib": smtplib,
  nodemailer,
}
