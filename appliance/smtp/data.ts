/** DATA (RFC 5321 §4.1.1.4) and BDAT (RFC 3030). With the 250 reply, the server becomes responsible for the message. */
import { getSteadyTime } from '../clock/clock.ts'
import { Refusal, refuse } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import type { IncomingBody } from '../capacity/capacity.ts'
import { Body, type BodyOptions, type Sink } from './body.ts'
import type { IncomingMessage, MailHandler } from './handler.ts'
import { IDLE_MS } from './limits.ts'
import { createReply } from './reply.ts'
import type { Session } from './session.ts'
import type { Transaction } from './session-log.ts'

/** Maximum size of messages that are parsed without waiting for a turn, in octets. */
const SMALL = 256 * 1024

const optionsOf = (
  handler: MailHandler,
  arriving: IncomingMessage | undefined,
  dots: boolean,
): BodyOptions => ({
  limit: (arriving ?? handler).messageBytes,
  line: handler.lineOctets,
  dots,
})

const notNow = (expected: string) => refuse('smtp_sequence', { expected })

/** Receives a message that ends with CRLF.CRLF. */
export async function handleData(session: Session, args: string): Promise<Reply | null> {
  const { socket, transaction } = session
  try {
    if (args !== '') throw refuse('smtp_syntax', { expected: 'DATA without parameters' })
    if (!transaction) throw notNow('send MAIL first')
    if (transaction.chunks) throw notNow('the message was started with BDAT')
    if (transaction.recipients.size === 0) throw refuse('smtp_no_recipients')
    // Input sent before the 354 reply is message text for some servers and commands for others (RFC 2920 §3.1).
    if (socket.pending) throw notNow('wait for the reply to DATA before sending the message')
    transaction.arriving.admit()
  } catch (error) {
    if (socket.pending) session.over = true
    throw error
  }
  session.say(createReply(354, null, 'Send the message; end with a dot on its own line'))
  const body = new Body(
    optionsOf(transaction.handler, transaction.arriving, true),
    incomingOf(session, transaction),
  )
  if (!(await readBody(session, body))) return lost(session, body)
  return finish(session, transaction, body)
}

/**
 * Receives a chunk of `octets`; the last one ends the message. Reads the announced octets even if the chunk is refused,
 * because they aren't commands.
 */
export async function handleBdat(session: Session, args: string): Promise<Reply | null> {
  const match = /^(\d{1,15})( +LAST)?$/i.exec(args)
  if (!match) {
    // The number of octets that follow is unknown, so the next command can't be found.
    session.over = true
    throw refuse('smtp_syntax', { expected: 'BDAT octets, or BDAT octets LAST' })
  }
  const [octets, last] = [Number(match[1]), match[2] !== undefined]
  const { transaction } = session
  const options = optionsOf(transaction?.handler ?? session.handler, transaction?.arriving, false)
  const { limit } = options
  const first = !transaction?.chunks
  const body =
    transaction?.chunks ?? new Body(options, transaction ? incomingOf(session, transaction) : DISCARD)
  if (transaction) transaction.chunks = body
  if (octets > 2 * limit) session.over = true
  if (octets > limit) body.spoil(refuse('message_too_large', { limit }))
  if (session.over) throw body.refusal!
  // Without a transaction, nothing is stored, so don't use memory for it.
  if (!transaction) body.spoil(notNow('send MAIL first'))
  else if (transaction.recipients.size === 0) body.spoil(refuse('smtp_no_recipients'))
  else if (first) spoilUnlessAdmitted(transaction, body)
  if (!(await readChunk(session, body, octets))) return lost(session, body)
  if (!transaction) throw body.refusal!
  if (last) return finish(session, transaction, body)
  if (body.refusal) throw body.refusal
  return createReply(250, '2.0.0', `${octets} octets received`)
}

/** Sink for a message that is refused before it begins. */
const DISCARD: Sink = { add: () => undefined, discard: () => undefined }

/** Starts to store the message of a transaction. */
function incomingOf({ shared, caller, ip }: Session, transaction: Transaction): IncomingBody {
  transaction.incoming ??= shared.capacity.receive({ teamId: caller?.teamId ?? null, ip })
  return transaction.incoming
}

/** Marks a BDAT chunk to be discarded if the message can't be accepted. Its octets are still read. */
function spoilUnlessAdmitted(transaction: Transaction, body: Body): void {
  try {
    transaction.arriving.admit()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    body.spoil(error)
  }
}

/** Ends a session whose client disconnected or stalled within a message. The message isn't accepted. */
function lost(session: Session, { tooSlow }: Body): null {
  if (tooSlow) session.close('body_too_slow')
  else session.close('smtp_idle', { limit: IDLE_MS / 1000 })
  return null
}

/** Reads to the end of the message. Resolves to false if it doesn't arrive in time. */
function readBody(session: Session, body: Body): Promise<boolean> {
  return atPace(session, body, async (next) => {
    for (;;) {
      const piece = await next()
      if (!piece) return false
      const { used, ended } = body.feed(piece)
      if (!ended) continue
      session.socket.unread(piece.subarray(used))
      return true
    }
  })
}

function readChunk(session: Session, body: Body, octets: number): Promise<boolean> {
  return atPace(session, body, async (next) => {
    for (let left = octets; left > 0;) {
      const piece = await next()
      if (!piece) return false
      body.feed(piece.subarray(0, left))
      session.socket.unread(piece.subarray(Math.min(left, piece.length)))
      left -= Math.min(left, piece.length)
    }
    return true
  })
}

/** Reads chunks. `next` resolves to null if they arrive too slowly or the time limit has passed. */
async function atPace(
  session: Session,
  body: Body,
  read: (next: () => Promise<Buffer | null>) => Promise<boolean>,
): Promise<boolean> {
  const { socket, shared, caller, transaction } = session
  const { capacity, clock } = shared
  const end = getSteadyTime(clock) + (transaction?.handler ?? session.handler).messageMs
  let octets = 0
  const unwatch = capacity.pace.watch({
    get size() {
      return octets
    },
    tooSlow: () => {
      body.tooSlow = true
      socket.giveUp()
    },
  })
  try {
    return await read(async () => {
      await body.full
      body.full = undefined
      const piece = await socket.piece(Math.min(IDLE_MS, end - getSteadyTime(clock)))
      if (!piece) return null
      octets += piece.length
      const shift = capacity.shifts.take(caller?.teamId ?? null, piece.length)
      if (shift) {
        socket.hold()
        await shift
      }
      return piece
    })
  } finally {
    unwatch()
  }
}

/** Stores the message. The 250 reply is sent after the commit (RFC 5321 §6.1). */
async function finish(session: Session, transaction: Transaction, body: Body): Promise<Reply> {
  transaction.outcome = { emailId: null }
  session.log.sized(body.size)
  body.end()
  if (body.refusal) throw body.refusal
  const bytes = await wholeOf(session, transaction)
  const { arriving, recipients } = transaction
  const taken = await arriving.take(bytes, [...recipients.values()])
  transaction.outcome = { emailId: taken.emailId }
  if (taken.wanted === true) session.connection.vouch()
  return taken.reply
}

/**
 * Returns the message in one buffer. A large message first waits for a turn. Its memory is freed with the transaction.
 * Refuses: `overloaded`.
 */
async function wholeOf({ shared, caller }: Session, transaction: Transaction): Promise<Buffer> {
  const incoming = transaction.incoming!
  if (incoming.size > SMALL)
    transaction.turn = await shared.capacity.turns.take(caller?.teamId ?? null, incoming.size)
  return incoming.whole()
}
