/** The conversation with a certificate authority: RFC 8555, and RFC 9773 for when to renew. */
import type { Answered, Exchange } from './exchange.ts'
import { externalBinding, signed, thumbprint, type SigningKey } from './jose.ts'

/** What the authority offers, RFC 8555 §7.1.1. */
interface Directory {
  newNonce: string
  newAccount: string
  newOrder: string
  renewalInfo?: string
  meta?: { externalAccountRequired?: boolean }
}

export interface Challenge {
  type: string
  url: string
  token: string
  status: string
  error?: unknown
}

export interface Authorization {
  identifier: { type: string; value: string }
  status: string
  challenges: Challenge[]
}

export interface Order {
  status: string
  authorizations: string[]
  finalize: string
  certificate?: string
  error?: unknown
}

/** An authority's "no": a problem document (RFC 7807, RFC 8555 §6.7). */
export class AcmeProblem extends Error {
  /** The last part of its type: `rateLimited`, `unauthorized`; empty where it gave none. */
  readonly type: string
  /** Milliseconds to wait before asking again, from Retry-After; 0 where it says nothing. */
  readonly retryAfter: number
  constructor(type: string, detail: string, retryAfter = 0) {
    super(detail)
    this.type = type
    this.retryAfter = retryAfter
  }
}

/** A URL that the authority gave us, and what it says there. */
export interface Resource<T> {
  url: string
  value: T
  /** Milliseconds from Retry-After; 0 where it says nothing. */
  retryAfter: number
}

export interface AcmeClient {
  /** Makes the account of the key, or finds it (RFC 8555 §7.3). Comes before everything that follows. */
  enter(args: {
    email: string | undefined
    binding: { keyId: string; hmacKey: string } | undefined
  }): Promise<void>
  newOrder(names: readonly string[], replaces?: string): Promise<Resource<Order>>
  /** Reads what is at a URL of the authority. */
  get<T>(url: string): Promise<Resource<T>>
  post<T>(url: string, payload: unknown): Promise<Resource<T>>
  /** The chain, PEM. */
  certificate(url: string): Promise<string>
  /** RFC 8555 §8.1 */
  keyAuthorization(token: string): string
  /** RFC 9773 §4.1: when the certificate should be renewed; undefined where the authority does not say. */
  renewalWindow(certificateId: string): Promise<RenewalWindow | undefined>
}

/** Unix milliseconds, and when to ask again. */
export interface RenewalWindow {
  start: number
  end: number
  retryAfter: number
}

/** A request is signed anew so many times when its nonce was not taken (RFC 8555 §6.5). */
const NONCES = 5

/**
 * Makes a client; nothing is asked yet.
 * @param directoryUrl of the authority
 * @param now Unix milliseconds, for dates in Retry-After
 */
export function createAcmeClient(
  exchange: Exchange,
  key: SigningKey,
  directoryUrl: string,
  now: () => number,
): AcmeClient {
  return new Client(exchange, key, directoryUrl, now)
}

class Client implements AcmeClient {
  readonly #exchange: Exchange
  readonly #key: SigningKey
  readonly #directoryUrl: string
  readonly #now: () => number
  #directory: Directory | undefined
  #account: string | undefined
  #nonce: string | undefined

  constructor(exchange: Exchange, key: SigningKey, directoryUrl: string, now: () => number) {
    this.#exchange = exchange
    this.#key = key
    this.#directoryUrl = directoryUrl
    this.#now = now
  }

  async enter({ email, binding }: Parameters<AcmeClient['enter']>[0]): Promise<void> {
    const { newAccount, meta } = await this.#know()
    if (meta?.externalAccountRequired === true && !binding)
      throw new AcmeProblem(
        'externalAccountRequired',
        'This authority requires external account binding. Set acme.eab_key_id and acme.eab_hmac_key to the values from the authority.',
      )
    this.#account = undefined
    const { keyId, hmacKey } = binding ?? {}
    const bound = keyId !== undefined && hmacKey !== undefined
    const entered = await this.#ask(newAccount, {
      termsOfServiceAgreed: true,
      ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
      ...(bound ? { externalAccountBinding: externalBinding(this.#key, keyId, hmacKey, newAccount) } : {}),
    })
    const { location } = entered.headers
    if (typeof location !== 'string') throw new AcmeProblem('', `${newAccount} returned no account URL.`)
    this.#account = new URL(location, newAccount).href
  }

  async newOrder(names: readonly string[], replaces?: string): Promise<Resource<Order>> {
    const { newOrder, renewalInfo } = await this.#know()
    const identifiers = names.map((value) => ({ type: 'dns', value }))
    const known = renewalInfo === undefined || replaces === undefined ? {} : { replaces }
    return this.post(newOrder, { identifiers, ...known })
  }

  get<T>(url: string): Promise<Resource<T>> {
    return this.post(url, null)
  }

  async post<T>(url: string, payload: unknown): Promise<Resource<T>> {
    const answered = await this.#ask(url, payload)
    const { location } = answered.headers
    return {
      url: typeof location === 'string' ? new URL(location, url).href : url,
      value: objectIn<T>(answered, url),
      retryAfter: retryAfter(answered, this.#now()),
    }
  }

  async certificate(url: string): Promise<string> {
    return (await this.#ask(url, null)).text
  }

  keyAuthorization(token: string): string {
    return `${token}.${thumbprint(this.#key)}`
  }

  async renewalWindow(certificateId: string): Promise<RenewalWindow | undefined> {
    const { renewalInfo } = await this.#know()
    if (renewalInfo === undefined) return undefined
    const url = `${renewalInfo.replace(/\/$/, '')}/${certificateId}`
    const answered = accepted(await this.#exchange('GET', url), this.#now())
    return windowIn(objectIn(answered, url), retryAfter(answered, this.#now()))
  }

  async #know(): Promise<Directory> {
    const url = this.#directoryUrl
    this.#directory ??= objectIn<Directory>(accepted(await this.#exchange('GET', url), this.#now()), url)
    return this.#directory
  }

  async #freshNonce(): Promise<string> {
    const { newNonce } = await this.#know()
    const found = (await this.#exchange('HEAD', newNonce)).headers['replay-nonce']
    if (typeof found !== 'string') throw new AcmeProblem('', `${newNonce} returned no nonce.`)
    return found
  }

  /** A signed request (RFC 8555 §6.2); signed anew where its nonce was not taken. */
  async #ask(url: string, payload: unknown, left = NONCES): Promise<Answered> {
    const nonce = this.#nonce ?? (await this.#freshNonce())
    this.#nonce = undefined
    const who = this.#account === undefined ? { jwk: this.#key.jwk } : { kid: this.#account }
    const body = JSON.stringify(signed(this.#key, { ...who, nonce, url }, payload))
    const answered = await this.#exchange('POST', url, body)
    const next = answered.headers['replay-nonce']
    this.#nonce = typeof next === 'string' ? next : undefined
    try {
      return accepted(answered, this.#now())
    } catch (error) {
      const stale = error instanceof AcmeProblem && error.type === 'badNonce'
      if (!stale || left === 0) throw error
      return this.#ask(url, payload, left - 1)
    }
  }
}

/** RFC 9773 §4.2; undefined for a window that makes no sense. */
function windowIn(value: unknown, after: number): RenewalWindow | undefined {
  const { suggestedWindow } = value as { suggestedWindow?: { start?: unknown; end?: unknown } }
  const [start, end] = [suggestedWindow?.start, suggestedWindow?.end].map((one) => Date.parse(String(one)))
  if (start === undefined || end === undefined || !(start < end)) return undefined
  return { start, end, retryAfter: after }
}

/** What a value of an `error` member or a problem document says, with its parts (RFC 8555 §6.7.1). Pure. */
export function problemText(problem: unknown): { type: string; text: string } {
  const { type, detail, subproblems } = (problem ?? {}) as Record<string, unknown>
  const parts = Array.isArray(subproblems) ? subproblems.map((one) => problemText(one).text) : []
  const said = typeof detail === 'string' ? detail : 'no reason given'
  const short = typeof type === 'string' ? type.slice(type.lastIndexOf(':') + 1) : ''
  // Remote text, for a log line and a screen.
  const text = [said, ...parts]
    .join(' · ')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, 1000)
  return { type: short, text }
}

function accepted(answered: Answered, now: number): Answered {
  if (answered.status >= 200 && answered.status < 300) return answered
  const { type, text } = problemText(jsonIn(answered.text))
  throw new AcmeProblem(
    type,
    `${text} (${answered.status}${type === '' ? '' : ` ${type}`})`,
    retryAfter(answered, now),
  )
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // An error page of a proxy: the status says enough.
  }
}

function objectIn<T>(answered: Answered, url: string): T {
  const value = jsonIn(answered.text)
  if (typeof value !== 'object' || value === null) throw new AcmeProblem('', `${url} did not return JSON.`)
  return value as T
}

/** RFC 9110 §10.2.3: seconds or a date. */
function retryAfter({ headers }: Answered, now: number): number {
  const value = headers['retry-after']
  if (value === undefined) return 0
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
