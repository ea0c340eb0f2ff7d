import type { TLSSocket } from 'node:tls'
import type { Reply } from '../mail/reply.ts'
import { Conversation, ConversationEndedError, isPositiveReply, type ConnectionUser } from './conversation.ts'
import { DEADLINES } from './deadlines.ts'
import { type Extensions, parseExtensions } from './extensions.ts'
import type { Failure } from './outcome.ts'
import { lacksRequireTls, demandsRequireTls, type Session } from './session.ts'
import { ConnectionBrokenError, type SmtpClientSocket } from './smtp-wire.ts'
import {
  describeTls,
  handshakeOptions,
  type HandshakeKind,
  capturePeer,
  type TlsResult,
  checkWebPki,
} from './tls.ts'
import { checkCertificate, demandsTls, getSniName, type TlsDemand } from './tls-demand.ts'

/** The parameters for opening a session. */
export interface OpenSessionArgs extends ConnectionUser {
  /** Our EHLO name. */
  hostname: string
  demand: TlsDemand
  /** How to begin STARTTLS; `none` continues in plaintext without it. */
  hello: HandshakeKind
  /** The return path of the message that the session is opened for. */
  from: string
}

/**
 * A session, or the reason why it couldn't be opened. `tlsBroke`: the handshake or the first command after it failed,
 * so another kind of handshake may work.
 */
export type OpenSessionResult =
  | { kind: 'open'; session: Session }
  | {
      kind: 'failed'
      failure: Failure
      tlsBroke: boolean
      result: TlsResult | null
    }

/**
 * Opens a session: greeting, EHLO, STARTTLS, EHLO (RFC 5321 §3.1, §3.2, RFC 3207). Never throws because of the server.
 */
export async function openSession(
  wire: SmtpClientSocket,
  opening: OpenSessionArgs,
  now: number,
): Promise<OpenSessionResult> {
  return new Introduction(wire, opening, now).run()
}

/** Runs the commands that open a session. */
class Introduction {
  readonly #say: Conversation
  readonly #opening: OpenSessionArgs
  readonly #now: number
  #extensions: Extensions = new Map()
  #helo: string | null = null
  #tls: Session['tls'] = null
  #tlsBroke = false
  #result: Pick<TlsResult, 'resultType' | 'webPki' | 'reason'> | null = null

  constructor(wire: SmtpClientSocket, opening: OpenSessionArgs, now: number) {
    this.#say = new Conversation(wire, opening)
    this.#opening = opening
    this.#now = now
  }

  async run(): Promise<OpenSessionResult> {
    try {
      await this.#greeting()
      await this.#hello()
      await this.#secure()
      const found = {
        extensions: this.#extensions,
        tls: this.#tls,
        result: this.#told()!,
        told: new Set<string>(),
      }
      const counts = { openedAt: this.#now, messages: 0, unsettled: false }
      return { kind: 'open', session: { conversation: this.#say, ...found, ...counts } }
    } catch (error) {
      if (!(error instanceof ConversationEndedError || error instanceof ConnectionBrokenError)) throw error
      const failure = error instanceof ConversationEndedError ? error.failure : this.#say.broke(error)
      if (error instanceof ConversationEndedError && error.polite) this.#say.goodbye()
      else this.#say.wire.destroy()
      return { kind: 'failed', failure, tlsBroke: this.#tlsBroke, result: this.#told() }
    }
  }

  async #greeting(): Promise<void> {
    const reply = await this.#say.ask('greeting', null)
    if (reply.code !== 220) this.#say.refuse(reply, 'greeting')
  }

  async #hello(): Promise<void> {
    const { hostname } = this.#opening
    let reply = await this.#say.ask('ehlo', `EHLO ${hostname}`)
    // A server that doesn't know EHLO gets HELO, and has no extensions (RFC 5321 §3.2).
    const old = reply.code >= 500
    if (old) reply = await this.#say.ask('ehlo', `HELO ${hostname}`)
    if (!isPositiveReply(reply)) this.#say.refuse(reply, 'ehlo')
    this.#extensions = old ? new Map() : parseExtensions(reply)
    this.#helo = /^\S+/.exec(reply.text)?.[0] ?? null
  }

  /** Runs STARTTLS if offered. Replies from before STARTTLS are ignored afterwards (RFC 3207 §4.2). */
  async #secure(): Promise<void> {
    const { demand, host, hello } = this.#opening
    if (!this.#extensions.has('STARTTLS')) {
      this.#note('starttls-not-supported', `${host} does not offer STARTTLS`)
      if (demandsTls(demand)) this.#unmet('does not offer TLS', '5.7.10')
      return
    }
    if (hello === 'none') {
      this.#note('validation-failure', `the TLS handshake with ${host} failed`)
      return
    }
    if (!(await this.#startTls())) return
    await this.#handshake(hello)
    try {
      await this.#hello()
    } catch (error) {
      // Some servers negotiate TLS 1.3 and then reject it. That counts as a failed handshake, too.
      if (error instanceof ConnectionBrokenError)
        this.#broke(error, `it ${error.message} after the handshake`)
      throw error
    }
    if (lacksRequireTls(demand, this.#opening.from, this.#extensions))
      this.#unmet('does not offer REQUIRETLS', '5.7.30')
  }

  /** Sends STARTTLS; returns whether the server accepts it. */
  async #startTls(): Promise<boolean> {
    const strict = demandsTls(this.#opening.demand)
    const note = ({ code }: Reply): string | null =>
      code !== 220 && !strict ? 'TLS was refused; continuing in plain text.' : null
    let reply: Reply
    try {
      reply = await this.#say.ask('starttls', 'STARTTLS', note)
    } catch (error) {
      if (error instanceof ConnectionBrokenError) this.#broke(error, `it ${error.message} at STARTTLS`)
      throw error
    }
    if (reply.code === 220) return true
    this.#note('starttls-not-supported', `${this.#opening.host} replied to STARTTLS with ${reply.code}`)
    if (strict) this.#say.refuse(reply, 'starttls')
    return false
  }

  async #handshake(hello: Exclude<HandshakeKind, 'none'>): Promise<void> {
    const { host, demand } = this.#opening
    const step = this.#say.begin('tls')
    const serverName = getSniName(demand, host)
    let socket: TLSSocket
    try {
      socket = await this.#say.wire.upgrade(handshakeOptions(serverName, hello), DEADLINES.tls)
    } catch (error) {
      const { message } = error as Error
      step.end({ note: hello === 'reduced' ? `With a smaller ClientHello: ${message}` : message })
      if (!(error instanceof ConnectionBrokenError) || error.kind === 'stopped') throw error
      this.#handshakeFailed(`it ${message}`)
      const failed = `The TLS handshake with ${host} failed: it ${message}.`
      const why = demand.kind === 'opportunistic' ? '' : ` ${demand.why}`
      throw new ConversationEndedError(this.#say.fail('tls', 'starttls', `${failed}${why}`), false)
    }
    const peer = capturePeer(socket)
    const check = checkCertificate(demand, peer, host, this.#now)
    const pkix = checkWebPki(peer, host, this.#now)
    const info = describeTls(socket, { peer, host, demand, check, pkix })
    this.#tls = { info, peer, serverName }
    const resultType = check.ok ? 'successful-session' : check.resultType
    const reason = check.ok ? null : `the certificate ${check.why}`
    this.#result = { resultType, webPki: pkix.ok ? 'successful-session' : pkix.resultType, reason }
    const { version, cipher, group, verified, error } = info
    const agreed = [version, cipher, group].filter(Boolean).join(', ')
    const smaller = hello === 'reduced' ? 'With a smaller ClientHello: ' : ''
    step.end({ note: `${smaller}${agreed}, certificate ${verified ? 'valid' : `not valid (${error})`}` })
    if (!check.ok) this.#unmet(`presented a certificate that ${check.why}`, '5.7.10')
  }

  /**
   * Fails because the server doesn't meet a requirement. If the sender requires it, there is no fallback (RFC 8689
   * §4.2.1).
   */
  #unmet(what: string, status: string): never {
    const { demand, host } = this.#opening
    if (demandsRequireTls(demand)) {
      const note = `${host} ${what}, and the sender requires TLS all the way to the recipient (REQUIRETLS).`
      throw new ConversationEndedError({ ...this.#say.fail('requiretls', 'starttls', note), status }, true)
    }
    const why = demand.kind === 'opportunistic' ? '' : ` ${demand.why}`
    throw new ConversationEndedError(this.#say.fail('tls', 'starttls', `${host} ${what}.${why}`), true)
  }

  /** Handles a connection that broke around the handshake. Our own shutdown says nothing about the server's TLS. */
  #broke({ kind }: ConnectionBrokenError, reason: string): void {
    if (kind !== 'stopped') this.#handshakeFailed(reason)
  }

  #handshakeFailed(reason: string): void {
    this.#tlsBroke = true
    this.#note('validation-failure', reason)
  }

  #note(resultType: TlsResult['resultType'], reason: string): void {
    this.#result = { resultType, webPki: resultType, reason }
  }

  #told(): TlsResult | null {
    if (!this.#result) return null
    const { host, ip } = this.#opening
    const sendingIp = this.#say.wire.localAddress
    return { ...this.#result, sendingIp, receivingHost: host, receivingIp: ip, receivingHelo: this.#helo }
  }
}
