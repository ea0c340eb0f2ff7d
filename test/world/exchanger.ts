import { once } from 'node:events'
import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import type { Behaviour, Step } from './behaviour.ts'
import { Mailbox } from './mailbox.ts'
import { tlsOptions, type TlsMode } from './tls.ts'

/**
 * A test mail exchanger: smtp-server with scriptable misbehavior. It sends its greeting 100 ms after the connection
 * opens.
 */

export interface ExchangerOptions {
  address: string
  /** 0 picks a free port. */
  port: number
  /** The host name in the greeting. */
  name: string
  /** Default `none`: STARTTLS is not offered. */
  tls?: TlsMode
  /** How it reacts. By default, it accepts everything. */
  behave?: Behaviour
  /** Options not covered here, such as `hidePIPELINING` or `size`. */
  smtp?: SMTPServerOptions
}

export interface Exchanger {
  readonly address: string
  readonly port: number
  readonly mailbox: Mailbox
  /** All steps at which it could have reacted, in order. */
  readonly steps: readonly Step[]
  /** Replaces its behavior. Undefined accepts everything. */
  behave(behaviour: Behaviour | undefined): void
  /** Returns the number of open connections. */
  open(): number
  close(): Promise<void>
}

/** Starts an exchanger. Rejects with the system's error if the address or port is in use. */
export async function startExchanger(options: ExchangerOptions): Promise<Exchanger> {
  const mailbox = new Mailbox()
  const actor = new Actor(options.behave)
  const tls = options.tls ?? 'none'
  const server = new SMTPServer({
    name: options.name,
    banner: 'test world',
    authOptional: true,
    disabledCommands: tls === 'none' ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    disableReverseLookup: true,
    closeTimeout: 1,
    ...(tls === 'none' ? {} : tlsOptions(tls)),
    ...options.smtp,
    onConnect: (session, done) => actor.react('connect', null, session, done),
    onMailFrom: ({ address }, session, done) => actor.react('mail', address, session, done),
    onRcptTo: ({ address }, session, done) => actor.react('rcpt', address, session, done),
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () =>
        actor.react('message', null, session, (error, text) => {
          if (!error) mailbox.receive(arrival(session, Buffer.concat(chunks)))
          done(error, text)
        }),
      )
      stream.pause()
      actor.react('data', null, session, () => stream.resume())
    },
  })
  actor.drop = (session) => drop(server, session)
  // Tests reset connections and fail handshakes on purpose.
  server.on('error', () => undefined)
  const listener = await listen(server, options)
  return {
    address: options.address,
    port: (listener.address() as { port: number }).port,
    mailbox,
    steps: actor.steps,
    behave: (behaviour) => (actor.behave = behaviour),
    open: () => server.connections.size,
    close: () =>
      new Promise((resolve) => {
        for (const connection of server.connections) connection._socket.destroy()
        server.close(resolve)
      }),
  }
}

async function listen(server: SMTPServer, { port, address }: ExchangerOptions): Promise<Server> {
  const listener = server.listen(port, address)
  await once(listener, 'listening')
  return listener
}

type Done = (error?: Error | null, text?: string) => void

/** Asks the behavior for reactions and carries them out. */
class Actor {
  readonly steps: Step[] = []
  behave: Behaviour | undefined
  drop: (session: SMTPServerSession) => void = () => undefined

  constructor(behave: Behaviour | undefined) {
    this.behave = behave
  }

  react(command: Step['command'], address: string | null, session: SMTPServerSession, done: Done): void {
    const count = 1 + this.steps.filter((step) => step.command === command).length
    const { hostNameAppearsAs: ehlo, secure: tls, remoteAddress: client } = session
    const step = { command, address, count, ehlo, tls, client }
    this.steps.push(step)
    const reaction = this.behave?.(step)
    if (typeof reaction !== 'object') return this.#do(reaction, session, done)
    const over = 'until' in reaction ? reaction.until : sleep(reaction.pauseMs, undefined, { ref: false })
    void over.then(() => this.#do(reaction.then, session, done))
  }

  #do(reply: string | undefined, session: SMTPServerSession, done: Done): void {
    if (reply === undefined) return done()
    if (reply === 'drop') return this.drop(session)
    const [, code = '', text = ''] = /^(\d{3}) (.*)$/s.exec(reply) ?? []
    if (code.startsWith('2')) return done(null, text)
    done(Object.assign(new Error(text), { responseCode: Number(code) }))
  }
}

function drop(server: SMTPServer, session: SMTPServerSession): void {
  for (const connection of server.connections) {
    if (connection.id === session.id) connection._socket.destroy()
  }
}

function arrival(session: SMTPServerSession, raw: Buffer) {
  const { envelope, tlsOptions: cipher } = session
  return {
    envelope: {
      from: envelope.mailFrom ? envelope.mailFrom.address : '',
      to: envelope.rcptTo.map(({ address }) => address),
    },
    raw,
    tls: session.secure && cipher ? { version: cipher.version, cipher: cipher.name } : null,
    session: {
      id: session.id,
      ehlo: session.hostNameAppearsAs,
      clientAddress: session.remoteAddress,
      transaction: session.transaction,
    },
  }
}
