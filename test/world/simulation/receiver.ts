import type { Socket } from 'node:net'
import { TLSSocket, type SecureContext } from 'node:tls'
import { mailboxOf, type Act, type At, type Moment, type Personality, type Rule } from './personality.ts'
import { verdictOf, type Answer, type Connection } from './record.ts'
import type { SharedTime, Timers } from './time.ts'

/** A running personality: its rules with their state, and its open connections. */
export interface Living {
  personality: Personality
  rules: readonly Rule[]
  /** Open connections by source address. */
  open: Map<string, number>
  secureContext: SecureContext | undefined
}

/** The receivers' environment: the clock and the records. */
export interface Surroundings {
  time: SharedTime
  timers: Timers
  answers: Answer[]
  connections: Connection[]
}

const EXTENSIONS = ['PIPELINING', '8BITMIME', 'SIZE 35882577', 'ENHANCEDSTATUSCODES']
const END_OF_DATA = '\r\n.\r\n'
/**
 * A ClientHello without post-quantum key shares stays below this many bytes. Some middleboxes can't handle longer ones.
 */
const SMALL_HELLO = 700

/**
 * The receiver's side of one connection: the part of RFC 5321 that senders use, with the personality's rules applied at
 * each step.
 */
export class Receiver {
  readonly #living: Living
  readonly #world: Surroundings
  readonly #record: Connection
  #socket: Socket
  #unread = ''
  #out = ''
  #state: 'command' | 'data' | 'peek' | 'done' = 'command'
  /** Whether a reply is waiting for time to pass. */
  #waiting = false
  #left = false
  #sender: string | null = null
  #recipients: string[] = []
  #bodyBegun = false
  #signed = false

  constructor(socket: Socket, host: string, living: Living, world: Surroundings) {
    this.#socket = socket
    this.#living = living
    this.#world = world
    const now = world.time.now()
    const ip = socket.remoteAddress ?? ''
    this.#record = {
      id: world.connections.length,
      personality: living.personality.name,
      host,
      ip,
      openedAt: now,
      closedAt: 0,
      abreast: 0,
      transactions: [],
      encrypted: false,
    }
    world.connections.push(this.#record)
    this.#listen(socket)
    // Reads pending disconnects first, so that closed connections aren't counted along with new ones.
    setImmediate(() => this.#welcome())
  }

  #welcome(): void {
    const { open, personality } = this.#living
    const { ip } = this.#record
    if (this.#state === 'done') return
    this.#record.abreast = (open.get(ip) ?? 0) + 1
    open.set(ip, this.#record.abreast)
    const greeting = personality.greeting ?? { say: `220 ${this.#record.host} ESMTP` }
    this.#moment('connect', '', () => this.#act(greeting, () => undefined))
    this.#flush()
  }

  #listen(socket: Socket): void {
    const gone = (): void => this.#gone()
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk.toString('latin1')))
    socket.on('end', gone).on('close', gone)
    // The client may disconnect at any time.
    socket.on('error', gone)
  }

  #receive(chunk: string): void {
    this.#world.time.note()
    if (this.#state === 'done') return
    this.#unread += chunk
    this.#pump()
    this.#flush()
  }

  /** Processes input up to the point where a reply has to wait. */
  #pump(): void {
    while (!this.#waiting) {
      if (this.#state === 'data') {
        if (!this.#data()) return
      } else if (this.#state === 'command') {
        const end = this.#unread.indexOf('\r\n')
        if (end < 0) return
        const line = this.#unread.slice(0, end)
        this.#unread = this.#unread.slice(end + 2)
        this.#command(line)
      } else return
    }
  }

  #command(line: string): void {
    const verb = line.slice(0, 4).toUpperCase()
    if (verb === 'EHLO') return this.#hello(line)
    if (verb === 'HELO') return this.#moment('hello', line, () => this.#say(`250 ${this.#record.host}`))
    if (verb === 'STAR') return this.#startTls(line)
    if (verb === 'MAIL') return this.#mail(line)
    if (verb === 'RCPT') return this.#rcpt(line)
    if (verb === 'DATA') return this.#dataCommand(line)
    if (verb === 'RSET') return this.#moment('rset', line, () => this.#reset('250 2.0.0 Ok'))
    if (verb === 'NOOP') return this.#say('250 2.0.0 Ok')
    if (verb === 'QUIT') return this.#act({ say: '221 2.0.0 Bye', then: 'close' }, () => undefined)
    this.#say('500 5.5.2 Command unrecognized')
  }

  #hello(line: string): void {
    const { extensions = EXTENSIONS, tls } = this.#living.personality
    if (extensions === null) return this.#say('502 5.5.1 EHLO is not implemented')
    const offered = tls && !this.#record.encrypted ? [...extensions, 'STARTTLS'] : extensions
    const lines = [this.#record.host, ...offered]
    const reply = lines.map((text, at) => `250${at === lines.length - 1 ? ' ' : '-'}${text}`).join('\n')
    this.#moment('hello', line, () => this.#say(reply))
  }

  #startTls(line: string): void {
    const { tls } = this.#living.personality
    if (!tls || this.#record.encrypted) return this.#say('503 5.5.1 STARTTLS is not offered')
    if (tls === 'refused') return this.#say('454 4.7.0 TLS not available due to temporary reason')
    this.#moment('starttls', line, () => {
      this.#say('220 2.0.0 Ready to start TLS')
      this.#flush()
      if (tls === 'garbage')
        return this.#act({ raw: 'this is not TLS at all\r\n', then: 'close' }, () => undefined)
      this.#state = 'peek'
      this.#socket.removeAllListeners('data')
      if (tls !== 'small-hello') return this.#secure()
      this.#socket.once('data', (chunk: Buffer) => this.#peek(chunk))
    })
  }

  /** Checks the ClientHello's length (RFC 8446 §5.1) before TLS starts. */
  #peek(chunk: Buffer): void {
    this.#world.time.note()
    if (this.#state === 'done') return
    if (chunk.length > 5 && chunk.readUInt16BE(3) > SMALL_HELLO) return this.#end('reset')
    this.#socket.pause()
    this.#socket.unshift(chunk)
    this.#secure()
  }

  #secure(): void {
    this.#socket.removeAllListeners('end').removeAllListeners('close')
    const secure = new TLSSocket(this.#socket, {
      isServer: true,
      secureContext: this.#living.secureContext!,
    })
    this.#socket = secure
    this.#unread = ''
    this.#record.encrypted = true
    this.#state = 'command'
    this.#listen(secure)
  }

  #mail(line: string): void {
    if (this.#sender !== null) return this.#say('503 5.5.1 Nested MAIL command')
    this.#record.transactions.push(this.#world.time.now())
    this.#moment('mail', line, () => {
      this.#sender = /<([^>]*)>/.exec(line)?.[1] ?? ''
      this.#say('250 2.1.0 Ok')
    })
  }

  #rcpt(line: string): void {
    if (this.#sender === null) return this.#say('503 5.5.1 Need MAIL before RCPT')
    const recipient = (/<([^>]*)>/.exec(line)?.[1] ?? '').toLowerCase()
    const { unknown = '550 5.1.1 <{recipient}>: Recipient address rejected: User unknown' } =
      this.#living.personality
    const { full = '452 4.2.2 <{recipient}>: Mailbox full' } = this.#living.personality
    this.#moment(
      'rcpt',
      line,
      () => {
        const mailbox = mailboxOf(recipient)
        if (mailbox !== 'ok') return this.#answerRecipient(recipient, mailbox === 'full' ? full : unknown)
        this.#recipients.push(recipient)
        this.#say('250 2.1.5 Ok')
      },
      recipient,
    )
  }

  #answerRecipient(recipient: string, reply: string): void {
    this.#note([recipient], reply)
    this.#say(reply, recipient)
  }

  #dataCommand(line: string): void {
    if (this.#recipients.length === 0) return this.#say('503 5.5.1 No valid recipients')
    this.#moment('data', line, () => {
      this.#say('354 End data with <CR><LF>.<CR><LF>')
      this.#state = 'data'
      this.#bodyBegun = this.#signed = false
      // In an empty message, the line end of DATA serves as the one before the final dot (RFC 5321 §4.1.1.4).
      this.#unread = `\r\n${this.#unread}`
    })
  }

  /** Reads message data. Returns false if more is needed. */
  #data(): boolean {
    if (!this.#bodyBegun && this.#unread.length > 2) {
      this.#bodyBegun = true
      this.#signed = /\r\ndkim-signature:/i.test(this.#unread)
      this.#moment('body', '', () => undefined)
      if (this.#waiting || (this.#state as string) === 'done') return false
    }
    const end = this.#unread.indexOf(END_OF_DATA)
    if (end < 0) {
      this.#unread = this.#unread.slice(-END_OF_DATA.length + 1)
      return false
    }
    this.#unread = this.#unread.slice(end + END_OF_DATA.length)
    this.#state = 'command'
    this.#moment('message', '', () => {
      const reply = '250 2.0.0 Ok: queued'
      this.#note(this.#recipients, reply)
      this.#reset(reply)
    })
    return true
  }

  #reset(reply: string): void {
    this.#sender = null
    this.#recipients = []
    this.#say(reply)
  }

  /** Applies the rules. If none acts, calls `accept`. */
  #moment(at: At, line: string, accept: () => void, recipient = ''): void {
    const { ip, transactions, encrypted } = this.#record
    const seen: Moment = {
      at,
      now: this.#world.time.now(),
      ip,
      line,
      recipient,
      recipients: this.#recipients,
      abreast: this.#living.open.get(ip) ?? 0,
      transactions: transactions.length,
      encrypted,
      signed: this.#signed,
    }
    for (const rule of this.#living.rules) {
      const act = rule(seen)
      if (!act) continue
      return this.#act(act, () => this.#decided(act, seen, accept))
    }
    accept()
  }

  /** Records the effect of an act. An act without a reply and without an end means acceptance. */
  #decided(act: Act, { at, recipient }: Moment, accept: () => void): void {
    if (act.say === undefined && act.raw === undefined && !act.then) return accept()
    if (recipient) this.#note([recipient], act.say)
    else if (at === 'mail' || at === 'connect') this.#note([''], act.say)
    else if (at === 'data' || at === 'body' || at === 'message') {
      this.#note(this.#recipients, act.say, at === 'message' && act.say === undefined)
      this.#sender = null
      this.#recipients = []
    }
  }

  #act(act: Act, decide: () => void): void {
    if (act.after === undefined) return this.#carryOut(act, decide)
    this.#wait(true)
    this.#world.timers.after(act.after, () => {
      if (this.#state === 'done') return
      this.#wait(false)
      this.#carryOut(act, decide)
      this.#pump()
      this.#flush()
    })
  }

  #wait(waiting: boolean): void {
    if (this.#waiting !== waiting) this.#world.time.addPatient(waiting ? 1 : -1)
    this.#waiting = waiting
  }

  #carryOut(act: Act, decide: () => void): void {
    if (act.say !== undefined) this.#say(act.say, this.#recipients[0])
    if (act.raw !== undefined) this.#out += act.raw
    decide()
    if (!act.then) return
    if (act.then === 'silence') {
      this.#flush()
      this.#wait(true)
    } else this.#end(act.then)
  }

  #note(recipients: readonly string[], reply: string | undefined, taken = false): void {
    const { time, answers } = this.#world
    const code = Number(reply?.slice(0, 3) ?? 0)
    const verdict = taken ? 'unsaid' : verdictOf(code)
    const { id: connection, personality } = this.#record
    for (const recipient of recipients)
      answers.push({ at: time.now(), personality, connection, recipient, verdict, code })
  }

  #say(reply: string, recipient = ''): void {
    const text = reply.includes('{')
      ? reply.replaceAll('{ip}', this.#record.ip).replaceAll('{recipient}', recipient)
      : reply
    this.#out += `${text.replaceAll('\n', '\r\n')}\r\n`
  }

  #flush(): void {
    if (this.#out === '' || this.#state === 'peek') return
    if (this.#socket.writable) this.#socket.write(this.#out, 'latin1')
    this.#out = ''
  }

  #end(how: 'close' | 'reset'): void {
    this.#flush()
    if (how === 'close') this.#socket.end()
    else this.#socket.resetAndDestroy()
    this.#leave()
  }

  #gone(): void {
    this.#world.time.note()
    if (this.#state === 'done') return void this.#socket.destroy()
    this.#leave()
    this.#socket.end()
  }

  /** Stops counting the connection. */
  #leave(): void {
    this.#state = 'done'
    if (this.#left) return
    this.#left = true
    this.#wait(false)
    const { ip, abreast } = this.#record
    this.#record.closedAt = this.#world.time.now()
    const { open } = this.#living
    if (abreast > 0) open.set(ip, (open.get(ip) ?? 1) - 1)
  }
}
