/**
 * The commands of RFC 5321 §4.1.1 and its extensions, each a function of the session. `COMMANDS` at the end lists them.
 */
import { needsSmtpUtf8 } from '../mail/address.ts'
import { refuse } from '../mail/refusals.ts'
import type { Caller } from '../senders/api-keys.ts'
import { handleAuth } from './auth.ts'
import { handleBdat, handleData } from './data.ts'
import { MAX_LOOKUPS, MAX_RECIPIENTS } from './limits.ts'
import { parseMailParameters, parseRcptParameters } from './parameters.ts'
import { formatRefusal, createReply } from './reply.ts'
import type { Session, CommandHandler } from './session.ts'
import { parsePath } from './syntax.ts'

const ok = (text: string) => createReply(250, '2.0.0', text)
const notNow = (expected: string) => refuse('smtp_sequence', { expected })

function reset(session: Session): void {
  session.endTransaction()
}

/** EHLO and HELO (RFC 5321 §4.1.1.1). Any name is accepted, because the names that apps give are meaningless. */
function greet(session: Session, args: string, extended: boolean): void {
  if (!/^[!-~\u0080-\u{10FFFF}]{1,255}$/u.test(args))
    throw refuse('smtp_syntax', { expected: `${extended ? 'EHLO' : 'HELO'} host.example.com` })
  reset(session)
  session.helo = { name: args, extended }
}

const ehlo: CommandHandler = (session, args) => {
  greet(session, args, true)
  const { hostname } = session.shared.config
  // Announce the limit for authenticated clients, because AUTH may still follow. Unauthenticated clients get a lower
  // limit at MAIL and DATA.
  const { messageBytes } = session.shared.submission
  const signIn = session.kind.name !== 'trusted' && session.encrypted && !session.caller
  const keywords = [
    `${hostname} greets ${args.replaceAll(/[^!-~]/g, '?')}`,
    'PIPELINING',
    `SIZE ${messageBytes}`,
    '8BITMIME',
    'SMTPUTF8',
    'DSN',
    'CHUNKING',
    // REQUIRETLS is offered only within TLS (RFC 8689 §2).
    session.encrypted ? 'REQUIRETLS' : 'STARTTLS',
    ...(signIn ? ['AUTH PLAIN LOGIN'] : []),
    'ENHANCEDSTATUSCODES',
  ]
  return createReply(250, null, keywords.join('\n'))
}

const helo: CommandHandler = (session, args) => {
  greet(session, args, false)
  return createReply(250, null, session.shared.config.hostname)
}

/** STARTTLS. The session starts over afterwards (RFC 3207 §4.2). */
const starttls: CommandHandler = async (session, args) => {
  if (args !== '') throw refuse('smtp_syntax', { expected: 'STARTTLS without parameters' })
  if (session.encrypted) throw notNow('the connection is already encrypted')
  if (!session.helo) throw notNow('send EHLO first')
  reset(session)
  session.helo = null
  session.socket.discard()
  session.say(createReply(220, '2.0.0', 'Ready to start TLS'))
  if (!(await session.socket.startTls(session.shared.certificates))) session.over = true
  return null
}

/**
 * Returns the caller that the session sends for: the owner of the client's key or, in trusted networks, of the
 * listener's key. Null if the client hasn't authenticated. Checks again for each message, so that a revoked or
 * restricted key can't keep sending on an open session.
 * Refuses: `smtp_key_gone`, `smtp_key_revoked`.
 */
async function callerOf(session: Session): Promise<Caller | null> {
  const id = session.kind.name === 'trusted' ? session.kind.apiKeyId : session.caller?.apiKey?.id
  if (id === undefined) return null
  const caller = await session.shared.submission.callerOf(id)
  if (caller) {
    session.caller = caller
    return caller
  }
  if (session.kind.name === 'trusted') throw refuse('smtp_key_gone')
  session.over = true
  throw refuse('smtp_key_revoked')
}

const mail: CommandHandler = async (session, args) => {
  if (!session.helo) throw notNow('send EHLO first')
  if (session.transaction) throw notNow('a mail transaction is in progress; RSET aborts it')
  session.log.beginTransaction()
  const { kind } = session
  const caller = await callerOf(session)
  if (!caller && !session.answersStrangers)
    throw refuse(kind.name === 'starttls' && !session.encrypted ? 'smtp_needs_tls' : 'smtp_needs_auth')
  const { mailbox, parameters } = parsePath('MAIL', args)
  const read = parseMailParameters(parameters, session.handler.messageBytes)
  if (read.requireTls && !session.encrypted) throw refuse('smtp_require_tls')
  if (mailbox && needsSmtpUtf8(mailbox) && !read.smtpUtf8) throw refuse('smtp_needs_utf8')
  const { smtpUtf8, requireTls, dsn, size } = read
  const { handler } = session
  const arriving = await handler.begin(session.client, { from: mailbox, smtpUtf8, requireTls, size, dsn })
  session.transaction = {
    from: mailbox,
    handler,
    arriving,
    recipients: new Map(),
    chunks: null,
    incoming: null,
    turn: null,
    outcome: null,
  }
  return createReply(250, '2.1.0', 'Sender ok')
}

const rcpt: CommandHandler = async (session, args) => {
  const { transaction, caller, shared } = session
  if (!transaction) throw notNow('send MAIL first')
  if (transaction.chunks) throw notNow('the message has started; BDAT LAST ends it')
  if (!caller && ++session.lookups > MAX_LOOKUPS) throw refuse('inbound_lookups')
  const { mailbox, parameters } = parsePath('RCPT', args, caller ? undefined : shared.config.hostname)
  const recipient = { mailbox: mailbox!, dsn: parseRcptParameters(parameters) }
  const { address } = recipient.mailbox
  if (!transaction.recipients.has(address)) {
    if (transaction.recipients.size >= MAX_RECIPIENTS)
      throw refuse('smtp_recipients', { limit: MAX_RECIPIENTS })
    await transaction.arriving.rcpt(recipient)
    transaction.recipients.set(address, recipient)
  }
  return createReply(250, '2.1.5', 'Recipient ok')
}

const rset: CommandHandler = (session) => {
  reset(session)
  return ok('Ok')
}

const quit: CommandHandler = (session) => {
  session.over = true
  session.quit = true
  return createReply(221, '2.0.0', 'Goodbye')
}

/** VRFY doesn't reveal whether an address exists (RFC 5321 §7.3). */
const vrfy: CommandHandler = (_session, args) => {
  if (args === '') throw refuse('smtp_syntax', { expected: 'VRFY user@example.com' })
  return createReply(252, '2.0.0', 'Cannot verify the user; send a message to find out')
}

const help: CommandHandler = () =>
  createReply(214, '2.0.0', 'Authenticate with AUTH: the username is posthaste, the password an API key')

const notOffered: CommandHandler = () => formatRefusal(refuse('smtp_not_implemented'))

/** All commands. The object has no prototype, so that a name such as `constructor` finds no function. */
export const COMMANDS: Readonly<Record<string, CommandHandler | undefined>> = Object.assign(
  Object.create(null) as Record<string, CommandHandler | undefined>,
  {
    EHLO: ehlo,
    HELO: helo,
    STARTTLS: starttls,
    AUTH: handleAuth,
    MAIL: mail,
    RCPT: rcpt,
    DATA: handleData,
    BDAT: handleBdat,
    RSET: rset,
    NOOP: () => ok('Ok'),
    QUIT: quit,
    VRFY: vrfy,
    HELP: help,
    EXPN: notOffered,
    ETRN: notOffered,
    TURN: notOffered,
  },
)
