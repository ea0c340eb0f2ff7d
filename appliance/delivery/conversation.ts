import type { Reply } from '../mail/reply.ts'
import type { Step, TlsInfo } from '../mail/transcript.ts'
import type { Phase } from '../mail/verdict.ts'
import { BLOCK_DEADLINE, DEADLINES } from './deadlines.ts'
import {
  type Extensions,
  lacking,
  mailCommand,
  needsUtf8,
  rcptCommand,
  readExtensions,
  type Requests,
  sizeLimit,
} from './extensions.ts'
import { dotStuffed, type Prepared } from './message.ts'
import type { Fate, Failure, Outcome } from './outcome.ts'
import { kept, type OpenStep, type Recorder } from './recorder.ts'
import { Broken, type SmtpWire } from './smtp-wire.ts'
import { describeTls } from './tls.ts'

/** What is to be said to one host. */
export interface Order {
  host: string
  ip: string
  /** Our EHLO name. */
  hostname: string
  from: string
  recipients: string[]
  message: Prepared
  /** To be passed on where the server understands it. */
  requests?: Requests | undefined
  /**
   * `opportunistic` goes on in plain text when STARTTLS is refused or missing; `none` does not try it; `requiretls` is `required`
   * with a certificate that is valid for the host and a server that promises the same for the rest of the way (RFC 8689).
   */
  tls: 'opportunistic' | 'required' | 'requiretls' | 'none'
}

/** What came of it. */
export interface Said {
  outcome: Outcome
  tls: TlsInfo | null
  /** The TLS handshake, or the first word after it, went wrong: another connection may do without. */
  tlsBroke: boolean
}

type Named = Exclude<Step['name'], 'resolve' | 'connect' | 'rset' | 'quit'>

/** The conversation is over; thrown inside it, and caught where it was begun. */
class Ended extends Error {
  readonly failure: Failure
  /** Whether the server still listens for commands: QUIT is owed to it (RFC 5321 §4.1.1.10). */
  get polite(): boolean {
    const { kind, phase, reply } = this.failure
    if (kind === 'requiretls') return true
    return kind === 'reply' && phase !== 'body' && reply?.code !== 421
  }
  constructor(failure: Failure) {
    super(failure.note)
    this.failure = failure
  }
}

const phaseOf = (name: Named): Phase => (name === 'tls' ? 'starttls' : name)
const isDone = ({ code }: Reply): boolean => code >= 200 && code < 300
/** What was waited for when the connection broke, for people. */
const WAITING: Record<Named, string> = {
  greeting: 'waiting for its greeting',
  ehlo: 'waiting for the answer to EHLO',
  starttls: 'waiting for the answer to STARTTLS',
  tls: 'during the TLS handshake',
  mail: 'waiting for the answer to MAIL',
  rcpt: 'waiting for the answer to RCPT',
  data: 'waiting for the answer to DATA',
  body: 'while the message was sent',
}

/** One SMTP conversation (RFC 5321 §3.3, §4.1.4) over a connected wire. Never throws for what the server does. */
export async function speak(wire: SmtpWire, order: Order, recorder: Recorder): Promise<Said> {
  return new Conversation(wire, order, recorder).run()
}

class Conversation {
  readonly #wire: SmtpWire
  readonly #order: Order
  readonly #recorder: Recorder
  #extensions: Extensions = new Map()
  #tls: TlsInfo | null = null
  #tlsBroke = false
  /** The step that is waited for, and whether the final dot is out. */
  #now: Named = 'greeting'
  #dotSent = false
  /** Why recipients without a reply of their own did not get the message. */
  #failure: Failure | undefined
  readonly #refused = new Map<string, Failure>()
  #taken: Reply | undefined

  constructor(wire: SmtpWire, order: Order, recorder: Recorder) {
    this.#wire = wire
    this.#order = order
    this.#recorder = recorder
  }

  async run(): Promise<Said> {
    try {
      await this.#greeting()
      await this.#hello()
      await this.#secure()
      await this.#deliver()
      this.#goodbye()
    } catch (error) {
      if (!(error instanceof Ended || error instanceof Broken)) throw error
      this.#failure ??= error instanceof Ended ? error.failure : this.#broke(error)
      if (error instanceof Ended && error.polite) this.#goodbye()
      else this.#wire.destroy()
    }
    return { outcome: this.#outcome(), tls: this.#tls, tlsBroke: this.#tlsBroke }
  }

  async #greeting(): Promise<void> {
    const reply = await this.#ask('greeting', null)
    if (reply.code !== 220) this.#refuse(reply, 'greeting')
  }

  async #hello(): Promise<void> {
    let reply = await this.#ask('ehlo', `EHLO ${this.#order.hostname}`)
    // RFC 5321 §3.2: a server that does not know EHLO gets HELO, and has no extensions.
    const old = reply.code >= 500
    if (old) reply = await this.#ask('ehlo', `HELO ${this.#order.hostname}`)
    if (!isDone(reply)) this.#refuse(reply, 'ehlo')
    this.#extensions = old ? new Map() : readExtensions(reply)
  }

  /** STARTTLS (RFC 3207) where it is offered. What the server said before does not count afterwards (§4.2). */
  async #secure(): Promise<void> {
    const { tls, host, from } = this.#order
    const offered = this.#extensions.has('STARTTLS')
    if (tls === 'required' && !offered)
      throw new Ended(
        this.#fail(
          'tls',
          'starttls',
          `${host} does not offer TLS, which the sending domain requires (tls: enforced).`,
        ),
      )
    if (tls === 'requiretls' && !offered) this.#cannotKeep('5.7.10', 'does not offer TLS')
    if (tls === 'none' || !offered) return
    const note = (reply: Reply): string | null =>
      reply.code !== 220 && tls === 'opportunistic' ? 'TLS is refused; going on in plain text.' : null
    const reply = await this.#ask('starttls', 'STARTTLS', note)
    if (reply.code !== 220 && tls !== 'opportunistic') this.#refuse(reply, 'starttls')
    if (reply.code !== 220) return
    await this.#handshake()
    if (tls === 'requiretls' && !this.#tls?.verified)
      this.#cannotKeep('5.7.10', `shows a certificate that is not valid for it (${this.#tls?.error})`)
    try {
      await this.#hello()
    } catch (error) {
      // Some servers agree on TLS 1.3 and then reject what they agreed on: that is a failed handshake too.
      this.#tlsBroke = error instanceof Broken
      throw error
    }
    // RFC 8689 §5: a report with the null reverse-path is not lost for want of the promise; the TLS is demanded all the same.
    if (tls === 'requiretls' && from !== '' && !this.#extensions.has('REQUIRETLS'))
      this.#cannotKeep('5.7.30', 'does not offer REQUIRETLS')
  }

  /** RFC 8689 §4.2.1: not with this server, and never in another way. */
  #cannotKeep(status: string, why: string): never {
    const note = `${this.#order.host} ${why}, and the sender requires TLS on the whole way to the recipient (REQUIRETLS).`
    throw new Ended({ ...this.#fail('requiretls', 'starttls', note), status })
  }

  async #handshake(): Promise<void> {
    this.#now = 'tls'
    const step = this.#recorder.begin('tls', this.#peer, null)
    try {
      this.#tls = describeTls(await this.#wire.upgrade(this.#order.host, DEADLINES.tls))
      const { version, cipher, verified, error } = this.#tls
      step.end({ note: `${version}, ${cipher}, certificate ${verified ? 'valid' : `not valid (${error})`}` })
    } catch (error) {
      step.end({ note: (error as Error).message })
      this.#tlsBroke = true
      if (!(error instanceof Broken)) throw error
      throw new Ended(
        this.#fail(
          'tls',
          'starttls',
          `The TLS handshake with ${this.#order.host} failed: it ${error.message}.${this.#demand}`,
        ),
      )
    }
  }

  /** Why it does not go on in plain text, as a further sentence. */
  get #demand(): string {
    if (this.#order.tls === 'required') return ' The sending domain requires TLS (tls: enforced).'
    return this.#order.tls === 'requiretls' ? ' The sender requires TLS (REQUIRETLS).' : ''
  }

  /** The mail transaction (RFC 5321 §3.3), the envelope in one go where the server allows (RFC 2920). */
  async #deliver(): Promise<void> {
    const recipients = this.#sayable()
    if (recipients.length === 0) return
    const { from, message, requests } = this.#order
    const utf8 = [from, ...recipients].some(needsUtf8) || message.eightBitHeader
    const extensions = this.#extensions
    const requireTls = this.#order.tls === 'requiretls'
    const envelope: [Named, string][] = [
      ['mail', mailCommand(from, { message, utf8, requireTls, requests }, extensions)],
      ...recipients.map((recipient): [Named, string] => [
        'rcpt',
        rcptCommand(recipient, extensions, requests),
      ]),
      ['data', 'DATA'],
    ]
    const pipelining = this.#extensions.has('PIPELINING')
    const opened = pipelining ? this.#sayAll(envelope) : []
    const say = (at: number): Promise<Reply> =>
      pipelining ? this.#answer(envelope[at]![0], opened[at]!) : this.#ask(...envelope[at]!)

    const mail = await say(0)
    if (!isDone(mail)) this.#failure = this.#refusal(mail, 'mail')
    if (this.#failure && !pipelining) return
    for (const [at, recipient] of recipients.entries()) await this.#recipient(recipient, () => say(at + 1))
    const someone = !this.#failure && recipients.some((recipient) => !this.#refused.has(recipient))
    if (!someone && !pipelining) return
    const data = await say(envelope.length - 1)
    if (someone && data.code === 354) return this.#body()
    // RFC 2920 §3.1: DATA may be let in although nobody was; a single dot ends that, and reaches no one.
    if (data.code === 354) await this.#ask('body', '.')
    else if (someone) this.#failure = this.#refusal(data, 'data')
  }

  async #recipient(recipient: string, say: () => Promise<Reply>): Promise<void> {
    const reply = await say()
    if (!isDone(reply)) this.#refused.set(recipient, this.#refusal(reply, 'rcpt'))
    if (reply.code === 421) this.#refuse(reply, 'rcpt')
  }

  async #body(): Promise<void> {
    this.#now = 'body'
    const { bytes } = this.#order.message
    const step = this.#recorder.begin('body', this.#peer, null)
    const note = `${bytes.length} bytes`
    try {
      for (const block of dotStuffed(bytes)) {
        if (this.#wire.answered) return await this.#interrupted(step)
        await this.#wire.writeBlock(block, BLOCK_DEADLINE)
      }
      this.#dotSent = true
      const reply = kept(await this.#wire.read(DEADLINES.body))
      step.end({ reply, note })
      if (isDone(reply)) this.#taken = reply
      else this.#failure = this.#refusal(reply, 'body')
    } catch (error) {
      step.end({ note: `${note}; ${(error as Error).message}` })
      throw error
    }
  }

  /** A reply before the final dot: a refusal counts, an acceptance of half a message does not. */
  async #interrupted(step: OpenStep): Promise<void> {
    const reply = kept(await this.#wire.read(0))
    step.end({ reply, note: 'Answered before the whole message was sent.' })
    if (reply.code >= 400) this.#refuse(reply, 'body')
    throw new Ended(
      this.#fail('protocol', 'body', `${this.#order.host} answered before it had the whole message.`),
    )
  }

  /** Recipients that can be said to this server, when the message fits at all; the others get their failure. */
  #sayable(): string[] {
    const { host, from, recipients, message } = this.#order
    const limit = sizeLimit(this.#extensions)
    if (limit !== undefined && message.bytes.length > limit) {
      const note = `${host} takes messages of up to ${limit} bytes; this one has ${message.bytes.length}.`
      this.#failure = { ...this.#fail('unsupported', 'mail', note), status: '5.3.4' }
      return []
    }
    for (const recipient of recipients) {
      const unsayable = this.#unsayable(from) ?? this.#unsayable(recipient)
      if (unsayable) this.#refused.set(recipient, unsayable)
    }
    return recipients.filter((recipient) => !this.#refused.has(recipient))
  }

  #unsayable(address: string): Failure | undefined {
    // The last guard against commands smuggled in an address; what accepts mail refuses such addresses long before.
    if (/[\0-\x1f\x7f<>]/.test(address)) {
      const note = `The address ${JSON.stringify(address)} cannot be said in SMTP.`
      return { ...this.#fail('unsupported', 'rcpt', note), status: '5.1.3' }
    }
    if (!needsUtf8(address) || this.#extensions.has('SMTPUTF8')) return undefined
    const note = `${this.#order.host} does not offer SMTPUTF8, which the address ${address} needs.`
    return { ...this.#fail('unsupported', 'rcpt', note), status: '5.6.7' }
  }

  /** Commands of one group, sent together; their replies are read in the same order. */
  #sayAll(commands: [Named, string][]): OpenStep[] {
    const steps = commands.map(([name, line]) => this.#recorder.begin(name, this.#peer, line))
    this.#wire.write(commands.map(([, line]) => `${line}\r\n`).join(''))
    return steps
  }

  async #ask(name: Named, line: string | null, note?: (reply: Reply) => string | null): Promise<Reply> {
    const step = this.#recorder.begin(name, this.#peer, line)
    if (line !== null) this.#wire.write(`${line}\r\n`)
    return this.#answer(name, step, note)
  }

  /** The reply to a step. 421 may answer anything and ends the conversation (RFC 5321 §3.8). */
  async #answer(name: Named, step: OpenStep, note?: (reply: Reply) => string | null): Promise<Reply> {
    this.#now = name
    try {
      const reply = kept(await this.#wire.read(DEADLINES[name]))
      const lacks = name === 'mail' ? lacking(this.#order.message, this.#extensions) : null
      step.end({ reply, note: note?.(reply) ?? lacks })
      if (reply.code === 421 && name !== 'rcpt') this.#refuse(reply, phaseOf(name))
      return reply
    } catch (error) {
      if (error instanceof Broken) step.end({ note: error.message })
      throw error
    }
  }

  #goodbye(): void {
    this.#recorder
      .begin('quit', this.#peer, 'QUIT')
      .end({ note: 'The answer is not waited for: what became of the message is known, and stored at once.' })
    this.#wire.quit(DEADLINES.quit)
  }

  get #peer(): { host: string; ip: string } {
    return { host: this.#order.host, ip: this.#order.ip }
  }

  #fail(kind: Failure['kind'], phase: Phase, note: string): Failure {
    return { kind, phase, ...this.#peer, reply: null, note }
  }

  #refusal(reply: Reply, phase: Phase): Failure {
    const kind = reply.code >= 400 ? 'reply' : 'protocol'
    return { kind, phase, ...this.#peer, reply, note: `${this.#order.host} answered ${reply.code}.` }
  }

  #refuse(reply: Reply, phase: Phase): never {
    throw new Ended(this.#refusal(reply, phase))
  }

  #broke(broken: Broken): Failure {
    const where = this.#dotSent
      ? 'after the whole message was sent: it may have been delivered'
      : WAITING[this.#now]
    return this.#fail(broken.kind, phaseOf(this.#now), `${this.#order.host} ${broken.message} (${where}).`)
  }

  #outcome(): Outcome {
    const { host, ip, recipients } = this.#order
    const fate = (recipient: string): Fate => {
      // A refused sender makes the replies to RCPT meaningless: "503 MAIL first".
      const own = this.#failure?.phase === 'mail' ? undefined : this.#refused.get(recipient)
      const failure = own ?? this.#failure
      if (failure) return { kind: 'failed', failure }
      if (this.#taken) return { kind: 'accepted', host, ip, reply: this.#taken }
      return {
        kind: 'failed',
        failure: this.#fail('internal', 'rcpt', 'The conversation ended without a result.'),
      }
    }
    return new Map(recipients.map((recipient) => [recipient, fate(recipient)]))
  }
}
