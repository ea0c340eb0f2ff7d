/** DATA (RFC 5321 §4.1.1.4) and BDAT (RFC 3030): the message comes in, and is ours when the reply says so. */
import { steady } from '../clock/clock.ts'
import { checkSchedule, readArrival } from '../intake/intake.ts'
import { refuse } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import { Body } from './body.ts'
import { IDLE_MS, MESSAGE_MS } from './limits.ts'
import type { Room } from './memory.ts'
import { reply } from './reply.ts'
import type { Session, Transaction } from './session.ts'

const notNow = (expected: string) => refuse('smtp_sequence', { expected })

/** Takes a message that ends with CRLF.CRLF. */
export async function data(session: Session, args: string): Promise<Reply | null> {
  const { socket, transaction, shared } = session
  try {
    if (args !== '') throw refuse('smtp_syntax', { expected: 'DATA alone' })
    if (!transaction) throw notNow('MAIL comes first')
    if (transaction.chunks) throw notNow('the message has begun with BDAT')
    if (transaction.recipients.size === 0) throw refuse('smtp_no_recipients')
    // RFC 2920 §3.1: what follows DATA before the go-ahead is a message to one reader and commands to another.
    if (socket.pending) throw notNow('the message comes after the reply to DATA')
  } catch (error) {
    if (socket.pending) session.over = true
    throw error
  }
  session.say(reply(354, null, 'Go ahead; end with a dot on a line of its own'))
  const body = new Body({ limit: shared.config.messageBytes, dots: true })
  if (!(await readBody(session, body, transaction.room))) return lost(session)
  return finish(session, transaction, body)
}

/** Takes `octets` of a message; the last chunk ends it. What was announced is read, whatever is wrong. */
export async function bdat(session: Session, args: string): Promise<Reply | null> {
  const match = /^(\d{1,15})( +LAST)?$/i.exec(args)
  if (!match) {
    // Nobody knows how many octets follow that are no commands.
    session.over = true
    throw refuse('smtp_syntax', { expected: 'BDAT octets, or BDAT octets LAST' })
  }
  const [octets, last] = [Number(match[1]), match[2] !== undefined]
  const { transaction, shared } = session
  const limit = shared.config.messageBytes
  const body = transaction?.chunks ?? new Body({ limit, dots: false })
  if (transaction) transaction.chunks = body
  if (octets > 2 * limit) session.over = true
  if (octets > limit) body.spoil(refuse('message_too_large', { limit }))
  if (session.over) throw body.refusal!
  // Without a transaction nothing is kept, so that it takes no room.
  if (!transaction) body.spoil(notNow('MAIL comes first'))
  else if (transaction.recipients.size === 0) body.spoil(refuse('smtp_no_recipients'))
  if (!(await readChunk(session, body, octets, transaction?.room))) return lost(session)
  if (!transaction) throw body.refusal!
  if (last) return finish(session, transaction, body)
  if (body.refusal) throw body.refusal
  return reply(250, '2.0.0', `${octets} octets received`)
}

/** The client went away, or stopped sending, in the middle: nothing was accepted. */
function lost(session: Session): null {
  session.close('smtp_idle', { limit: IDLE_MS / 1000 })
  return null
}

/** Reads until the end mark; false when it does not come in time. */
async function readBody({ socket, shared }: Session, body: Body, room: Room): Promise<boolean> {
  const end = steady(shared.clock) + MESSAGE_MS
  for (;;) {
    const piece = await socket.piece(Math.min(IDLE_MS, end - steady(shared.clock)))
    if (!piece) return false
    const { used, ended } = body.feed(piece)
    if (!body.refusal && !room.grow(body.size)) body.spoil(refuse('smtp_memory'))
    if (!ended) continue
    socket.unread(piece.subarray(used))
    return true
  }
}

async function readChunk(
  { socket, shared }: Session,
  body: Body,
  octets: number,
  room: Room | undefined,
): Promise<boolean> {
  const end = steady(shared.clock) + MESSAGE_MS
  for (let left = octets; left > 0;) {
    const piece = await socket.piece(Math.min(IDLE_MS, end - steady(shared.clock)))
    if (!piece) return false
    body.feed(piece.subarray(0, left))
    if (!body.refusal && room?.grow(body.size) === false) body.spoil(refuse('smtp_memory'))
    socket.unread(piece.subarray(Math.min(left, piece.length)))
    left -= Math.min(left, piece.length)
  }
  return true
}

/** Hands the message on; 250 is said after the commit. */
async function finish(session: Session, transaction: Transaction, body: Body): Promise<Reply> {
  const { shared, caller } = session
  transaction.outcome = { emailId: null }
  session.log.sized(body.size)
  const bytes = body.bytes()
  if (body.refusal) throw body.refusal
  const now = shared.clock.now()
  const read = await readArrival(arrivalOf(session, transaction, bytes), shared.reader, now)
  const { submission, idempotencyKey, fingerprint } = read
  const submissions = async () => {
    // Not before: a request that is asked again gets its answer, whatever the time is now.
    checkSchedule(submission.scheduledAt, now)
    return [submission]
  }
  const answer = ([id]: string[]) => ({ id })
  const { ids } = await shared.intake.accept(
    { submissions, idempotencyKey, scope: 'SMTP', fingerprint, answer },
    caller!,
  )
  transaction.outcome = { emailId: ids[0]! }
  return reply(250, '2.0.0', `Queued as ${ids[0]!}`)
}

function arrivalOf(session: Session, transaction: Transaction, bytes: Buffer) {
  const { from, recipients, dsn, smtpUtf8, requireTls } = transaction
  const { helo, encrypted, kind, ip, shared } = session
  // RFC 3848, RFC 6531 §4.3: S is TLS, A is AUTH.
  const base = smtpUtf8 ? 'UTF8SMTP' : helo!.extended ? 'ESMTP' : 'SMTP'
  const protocol =
    base === 'SMTP' ? base : `${base}${encrypted ? 'S' : ''}${kind.name === 'trusted' ? '' : 'A'}`
  const { hostname, hideClient } = shared.config
  const trace = { hostname, helo: helo!.name, ip, protocol, hideClient }
  return { bytes, from, recipients: [...recipients.values()], dsn, requireTls, trace }
}
