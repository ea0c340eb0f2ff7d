import { setImmediate } from 'node:timers/promises'
import type { Reply } from '../mail/reply.ts'
import { crashPoint } from '../watch/crash-points.ts'
import {
  type Conversation,
  ConversationEndedError,
  isPositiveReply,
  type ServerStep,
} from './conversation.ts'
import { BLOCK_DEADLINE, DEADLINES } from './deadlines.ts'
import { buildMailCommand, needsUtf8, buildRcptCommand } from './extensions.ts'
import { STOPPED_NOTE } from './connect.ts'
import { dotStuffed } from './message.ts'
import type { RecipientResult, Failure, Outcome } from './outcome.ts'
import { truncateReply, type OpenStep } from './recorder.ts'
import {
  convertForServer,
  selectSupportedPart,
  createConversionFailure,
  type TransactionInput,
} from './supported.ts'
import { endsSession, demandsRequireTls, type Session } from './session.ts'
import { ConnectionBrokenError } from './smtp-wire.ts'

/** Maximum number of blocks written per turn of the event loop if the server accepts them at once: a megabyte. */
const BLOCKS_IN_TURN = 16
/** Note shown with MAIL in the transcript of a converted message. */
const CONVERTED =
  'The server does not offer 8BITMIME, so the message was converted to 7-bit text and signed again (RFC 6152 §3).'

/** The result of a transaction. */
export interface TransactionResult {
  outcome: Outcome
  /** open: another transaction may follow · over: send QUIT · broken: no more commands can be sent. */
  connection: 'open' | 'over' | 'broken'
  /** The server had ended the session before it saw this message, which may be sent on another connection. */
  stale: boolean
  /** Recipients accepted before one got a 421; null when none did. */
  tookOnly: number | null
  /** The connection broke while waiting for replies to pipelined commands. */
  brokePipelining: boolean
}

interface TransactionOptions {
  /** False for a server that offers PIPELINING but fails with it. */
  mayPipeline?: boolean
  /** Whether other nodes may take over the delivery, so that the message must not be sent. */
  mayBeTakenOver?: () => boolean
}

/** Runs one mail transaction (RFC 5321 §3.3), possibly after others in the session. Never throws because of the server. */
export async function runTransaction(
  session: Session,
  order: TransactionInput,
  options: TransactionOptions = {},
): Promise<TransactionResult> {
  const message = await convertForServer(order, session.extensions)
  if ('impossible' in message) return notSent(createConversionFailure(order, message.impossible))
  return new Transaction(session, { ...order, message }, options).run()
}

/** The result of a message for which nothing was sent. */
const notSent = (outcome: Outcome): TransactionResult => ({
  outcome,
  connection: 'open',
  stale: false,
  tookOnly: null,
  brokePipelining: false,
})

class Transaction {
  readonly #session: Session
  readonly #say: Conversation
  readonly #order: TransactionInput
  readonly #pipelining: boolean
  readonly #mayBeTakenOver: () => boolean
  /** Whether replies to pipelined commands are pending. */
  #inGroup = false
  /** Whether other messages were sent on the connection before. */
  readonly #reused: boolean
  #begun = false
  /** Whether the server has replied about this message instead of the connection. */
  #heard = false
  #dotSent = false
  /** After a refused sender, the replies to RCPT mean nothing: "503 MAIL first". */
  #senderRefused = false
  /** Why recipients without a reply of their own didn't get the message. */
  #failure: Failure | undefined
  readonly #refused = new Map<string, Failure>()
  #tookOnly: number | null = null
  #taken: Reply | undefined

  constructor(
    session: Session,
    order: TransactionInput,
    { mayPipeline = true, mayBeTakenOver = () => false }: TransactionOptions,
  ) {
    this.#session = session
    this.#mayBeTakenOver = mayBeTakenOver
    this.#pipelining = mayPipeline && session.extensions.has('PIPELINING')
    this.#say = session.conversation
    this.#order = order
    this.#reused = session.messages > 0
  }

  async run(): Promise<TransactionResult> {
    const { recipients, refused, failure } = selectSupportedPart(this.#order, this.#session.extensions)
    for (const [recipient, why] of refused) this.#refused.set(recipient, why)
    this.#failure = failure
    let connection: TransactionResult['connection'] = 'open'
    let brokePipelining = false
    if (recipients.length > 0) {
      try {
        await this.#deliver(recipients)
      } catch (error) {
        if (!(error instanceof ConversationEndedError || error instanceof ConnectionBrokenError)) throw error
        this.#failure ??=
          error instanceof ConversationEndedError ? error.failure : this.#say.broke(error, this.#dotSent)
        connection = 'broken'
        brokePipelining = this.#inGroup && error instanceof ConnectionBrokenError
      }
    }
    const stale = this.#reused && this.#begun && !this.#heard
    if (connection === 'open' && (stale || this.#failure?.kind === 'tls')) connection = 'over'
    const outcome = this.#outcome()
    return {
      outcome,
      connection,
      stale,
      tookOnly: this.#tookOnly,
      brokePipelining: brokePipelining && !stale,
    }
  }

  /** Sends the envelope, pipelined if possible (RFC 2920 §3.1), then the body if a recipient was accepted. */
  async #deliver(recipients: string[]): Promise<void> {
    const reset = this.#session.unsettled
    const envelope = this.#envelope(recipients)
    const group: [ServerStep, string][] = reset ? [['rset', 'RSET'], ...envelope] : envelope
    this.#begun = true
    this.#session.messages += 1
    this.#session.unsettled = true
    const pipelining = this.#pipelining
    const opened = pipelining ? this.#say.sayAll(group) : []
    this.#inGroup = pipelining
    let at = 0
    const next = (note?: () => string | null): Promise<Reply> => {
      const [name, line] = group[at]!
      const step = opened[at++]
      return step ? this.#say.answer(name, step, note) : this.#say.ask(name, line, note)
    }

    if (reset) await this.#reset(next)
    const mail = await next(() => (this.#order.message.converted ? CONVERTED : null))
    this.#heard = !(this.#reused && endsSession(mail))
    this.#senderRefused = !isPositiveReply(mail)
    if (this.#senderRefused) this.#failure = this.#refusedMail(mail)
    if (this.#failure && !pipelining) return
    for (const [at, recipient] of recipients.entries()) {
      const reply = await next()
      if (!isPositiveReply(reply)) this.#refused.set(recipient, this.#say.refusal(reply, 'rcpt'))
      if (reply.code === 421) this.#hungUp(reply, recipients.slice(0, at))
    }
    const someone = !this.#failure && recipients.some((recipient) => !this.#refused.has(recipient))
    if (!someone && !pipelining) return
    const data = await next()
    this.#inGroup = false
    if (someone && data.code === 354) return this.#body()
    // DATA may be accepted although no recipient was (RFC 2920 §3.1). A single dot then ends the empty message, which
    // has no recipients.
    if (data.code === 354) await this.#say.ask('body', '.')
    else if (someone) this.#failure = this.#say.refusal(data, 'data')
  }

  #envelope(recipients: string[]): [ServerStep, string][] {
    const { from, message, requests, demand } = this.#order
    const { extensions } = this.#session
    const utf8 = [from, ...recipients].some(needsUtf8) || message.eightBitHeader
    const requireTls = demandsRequireTls(demand)
    return [
      ['mail', buildMailCommand(from, { message, utf8, requireTls, requests }, extensions)],
      ...recipients.map((recipient): [ServerStep, string] => [
        'rcpt',
        buildRcptCommand(recipient, extensions, requests),
      ]),
      ['data', 'DATA'],
    ]
  }

  /** Sends RSET. Only 250 is a valid reply (RFC 5321 §4.1.1.5); after any other, the server's state is unknown. */
  async #reset(next: () => Promise<Reply>): Promise<void> {
    const reply = await next()
    if (!isPositiveReply(reply)) this.#say.refuse(reply, 'mail')
  }

  /**
   * Handles a refused MAIL. 530 requires STARTTLS (RFC 3207 §4): if TLS was tried and failed, that is the real failure,
   * and may be temporary.
   */
  #refusedMail(reply: Reply): Failure {
    const { tls, extensions } = this.#session
    if (reply.code !== 530 || tls || !extensions.has('STARTTLS')) return this.#say.refusal(reply, 'mail')
    const note = `${this.#order.host} accepts mail only over TLS, but the TLS handshake failed.`
    return { ...this.#say.fail('tls', 'starttls', note), reply }
  }

  /**
   * Handles a 421 to a recipient. On a kept connection it may be about earlier messages; on a new one, the server may
   * not accept that many recipients.
   */
  #hungUp(reply: Reply, before: string[]): never {
    const accepted = before.filter((recipient) => !this.#refused.has(recipient)).length
    if (!this.#reused && accepted > 0) this.#tookOnly = accepted
    this.#say.refuse(reply, 'rcpt')
  }

  async #body(): Promise<void> {
    crashPoint('data')
    const step = this.#say.begin('body')
    const { wire } = this.#say
    const { bytes } = this.#order.message
    const note = `${bytes.length} bytes`
    try {
      let sent = 0
      for (const block of dotStuffed(bytes)) {
        // A fast server accepts block after block without a wait in between.
        if (++sent % BLOCKS_IN_TURN === 0) await setImmediate()
        if (wire.answered) return await this.#interrupted(step)
        // After a suspended process continues, replies are read before any timer notices how much time has passed.
        if (this.#mayBeTakenOver()) throw new ConnectionBrokenError('stopped', STOPPED_NOTE)
        await wire.writeBlock(block, BLOCK_DEADLINE)
      }
      this.#dotSent = true
      crashPoint('body')
      // Giving up here would create a duplicate (RFC 5321 §4.5.3.2.6), so ignore the deadline of the attempt.
      const reply = truncateReply(await wire.readAnyway(DEADLINES.body))
      step.end({ reply, note })
      this.#conclude(reply)
    } catch (error) {
      step.end({ note: `${note}; ${(error as Error).message}` })
      throw error
    }
  }

  /**
   * Handles the reply to the final dot, which ends the transaction (RFC 5321 §4.1.1.4). After a refusal, RSET makes
   * sure that the transaction ended.
   */
  #conclude(reply: Reply): void {
    if (isPositiveReply(reply)) {
      crashPoint('remote-250')
      this.#taken = reply
      this.#session.unsettled = false
      return
    }
    this.#failure = this.#say.refusal(reply, 'body')
    if (reply.code < 400 || reply.code === 421) throw new ConversationEndedError(this.#failure, false)
  }

  /**
   * Handles a reply that arrives before the final dot. A refusal counts; an acceptance doesn't, because the server has
   * only part of the message.
   */
  async #interrupted(step: OpenStep): Promise<void> {
    const reply = truncateReply(await this.#say.wire.read(0))
    step.end({ reply, note: 'The server replied before the whole message was sent.' })
    if (reply.code >= 400) this.#say.refuse(reply, 'body')
    const note = `${this.#order.host} replied before it had received the whole message.`
    throw new ConversationEndedError(this.#say.fail('protocol', 'body', note), false)
  }

  #outcome(): Outcome {
    const { host, ip, recipients } = this.#order
    const fate = (recipient: string): RecipientResult => {
      const own = this.#senderRefused ? undefined : this.#refused.get(recipient)
      const failure = own ?? this.#failure
      if (failure) return { kind: 'failed', failure }
      if (this.#taken) return { kind: 'accepted', host, ip, reply: this.#taken }
      const note = 'The conversation ended without a result.'
      return { kind: 'failed', failure: this.#say.fail('internal', 'rcpt', note) }
    }
    return new Map(recipients.map((recipient) => [recipient, fate(recipient)]))
  }
}
