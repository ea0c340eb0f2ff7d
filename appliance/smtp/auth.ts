/** AUTH (RFC 4954): authenticates with an API key, only over TLS. The delay after failures increases each time. */
import { refuse } from '../mail/refusals.ts'
import type { Reply } from '../mail/reply.ts'
import { IDLE_MS } from './limits.ts'
import { createReply, encodeReply } from './reply.ts'
import { decodeBase64, decodePlain, getKeyPrefix, USERNAMES, type Credentials } from './sasl.ts'
import type { Session } from './session.ts'

/** Handles AUTH. Refuses: `smtp_auth_needs_tls`, `smtp_mechanism`, `smtp_credentials`, `too_many_attempts`, … */
export async function handleAuth(session: Session, args: string): Promise<Reply | null> {
  const [mechanism = '', initial, ...rest] = args.split(' ')
  if (session.kind.name === 'trusted') throw refuse('smtp_not_implemented')
  if (!session.encrypted) throw refuse('smtp_auth_needs_tls')
  if (!session.helo?.extended) throw refuse('smtp_sequence', { expected: 'send EHLO first' })
  if (session.caller) throw refuse('smtp_sequence', { expected: 'already authenticated' })
  if (session.transaction) throw refuse('smtp_sequence', { expected: 'a mail transaction is in progress' })
  if (rest.length > 0)
    throw refuse('smtp_syntax', { expected: 'AUTH PLAIN or AUTH LOGIN with at most one initial response' })
  const ask = MECHANISMS.get(mechanism.toUpperCase())
  if (!ask) throw refuse('smtp_mechanism')
  const credentials = await ask(session, initial)
  return credentials ? check(session, credentials) : null
}

/** Reads the credentials with one SASL mechanism; null if the client disconnected. */
type Mechanism = (session: Session, initial: string | undefined) => Promise<Credentials | null>

const MECHANISMS: ReadonlyMap<string, Mechanism> = new Map([
  ['PLAIN', plain],
  ['LOGIN', login],
])

async function plain(session: Session, initial: string | undefined): Promise<Credentials | null> {
  const answer = initial === undefined ? await challenge(session, '') : decoded(initial)
  if (answer === null) return null
  const credentials = decodePlain(answer)
  if (!credentials)
    throw refuse('smtp_syntax', { expected: 'AUTH PLAIN with base64 of NUL, username, NUL, password' })
  return credentials
}

async function login(session: Session, initial: string | undefined): Promise<Credentials | null> {
  const user = initial === undefined ? await challenge(session, 'Username:') : decoded(initial)
  if (user === null) return null
  const password = await challenge(session, 'Password:')
  return password === null ? null : { user, password }
}

/** Sends a challenge and reads the response (RFC 4954 §4); null if the client disconnected. */
async function challenge(session: Session, question: string): Promise<string | null> {
  session.socket.write(encodeReply(createReply(334, null, Buffer.from(question).toString('base64'))))
  const line = await session.socket.line(IDLE_MS)
  if (line.kind === 'bad') throw refuse('smtp_syntax', { expected: 'base64' })
  if (line.kind === 'line') {
    if (line.text === '*') throw refuse('smtp_auth_cancelled')
    return decoded(line.text)
  }
  if (line.kind === 'end') session.over = true
  else session.close(line.kind === 'stop' ? 'shutting_down' : 'smtp_idle', { limit: IDLE_MS / 1000 })
  return null
}

function decoded(text: string): string {
  const answer = decodeBase64(text)
  if (answer === undefined) throw refuse('smtp_syntax', { expected: 'base64' })
  return answer
}

async function check(session: Session, { user, password }: Credentials): Promise<Reply | null> {
  const { gates, submission, log } = session.shared
  const gate = gates.submission
  const prefix = getKeyPrefix(password)
  const banned = gate.mayTry(session.ip, prefix)
  if (banned) throw banned
  const caller = USERNAMES.has(user) ? await submission.authenticate(password) : undefined
  if (caller) {
    gate.succeeded(session.ip, prefix)
    if (!session.connection.identify(caller.teamId)) throw refuse('connections_team')
    session.caller = caller
    session.log.signedIn()
    return createReply(235, '2.7.0', 'Authentication successful')
  }
  const delay = gate.failed(session.ip, prefix)
  log.warn({ session_id: session.id, ip: session.ip, key: prefix }, 'smtp authentication failed')
  if (await session.socket.pause(delay)) throw refuse('smtp_credentials')
  session.close('shutting_down')
  return null
}
