/** An ACME client (RFC 8555) with renewal information (RFC 9773). */
import type { AcmeResponse, Exchange } from './exchange.ts'
import { createExternalBinding, signRequest, computeThumbprint, type SigningKey } from './jose.ts'

/** The ACME server's directory (RFC 8555 §7.1.1). */
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

/** An error of the ACME server: a problem document (RFC 7807, RFC 8555 §6.7). */
export class AcmeProblem extends Error {
  /** The last part of the error type, such as `rateLimited` or `unauthorized`; empty when missing. */
  readonly type: string
  /** Milliseconds to wait before the next request, from Retry-After; 0 when missing. */
  readonly retryAfter: number
  constructor(type: string, detail: string, retryAfter = 0) {
    super(detail)
    this.type = type
    this.retryAfter = retryAfter
  }
}

/** A resource URL and the response body. */
export interface Resource<T> {
  url: string
  value: T
  /** Milliseconds from Retry-After; 0 when missing. */
  retryAfter: number
}

export interface AcmeClient {
  /** Creates the account of the key, or finds it (RFC 8555 §7.3). Must be called before the methods below. */
  enter(args: {
    email: string | undefined
    binding: { keyId: string; hmacKey: string } | undefined
  }): Promise<void>
  newOrder(names: readonly string[], replaces?: string): Promise<Resource<Order>>
  /** Reads the resource at a URL of the ACME server. */
  get<T>(url: string): Promise<Resource<T>>
  post<T>(url: string, payload: unknown): Promise<Resource<T>>
  /** Downloads the certificate chain, PEM. */
  certificate(url: string): Promise<string>
  /** RFC 8555 §8.1 */
  keyAuthorization(token: string): string
  /** Returns when the certificate should be renewed (RFC 9773 §4.1); undefined when the server doesn't say. */
  renewalWindow(certificateId: string): Promise<RenewalWindow | undefined>
}

/** The suggested window in Unix milliseconds, and when to ask again. */
export interface RenewalWindow {
  start: number
  end: number
  retryAfter: number
}

/** Maximum number of times that a request is signed again after its nonce was rejected (RFC 8555 §6.5). */
const NONCES = 5

/**
 * Creates a client; it makes no request yet.
 * @param directoryUrl the ACME directory
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
      ...(bound
        ? { externalAccountBinding: createExternalBinding(this.#key, keyId, hmacKey, newAccount) }
        : {}),
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
    return `${token}.${computeThumbprint(this.#key)}`
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

  /** Sends a signed request (RFC 8555 §6.2); signs it again with a new nonce when the nonce was rejected. */
  async #ask(url: string, payload: unknown, left = NONCES): Promise<AcmeResponse> {
    const nonce = this.#nonce ?? (await this.#freshNonce())
    this.#nonce = undefined
    const who = this.#account === undefined ? { jwk: this.#key.jwk } : { kid: this.#account }
    const body = JSON.stringify(signRequest(this.#key, { ...who, nonce, url }, payload))
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

/** Reads the suggested window (RFC 9773 §4.2); undefined when it is invalid. */
function windowIn(value: unknown, after: number): RenewalWindow | undefined {
  const { suggestedWindow } = value as { suggestedWindow?: { start?: unknown; end?: unknown } }
  const [start, end] = [suggestedWindow?.start, suggestedWindow?.end].map((one) => Date.parse(String(one)))
  if (start === undefined || end === undefined || !(start < end)) return undefined
  return { start, end, retryAfter: after }
}

/** Reads the type and text of an error or problem document, with its subproblems (RFC 8555 §6.7.1). Pure. */
export function problemText(problem: unknown): { type: string; text: string } {
  const { type, detail, subproblems } = (problem ?? {}) as Record<string, unknown>
  const parts = Array.isArray(subproblems) ? subproblems.map((one) => problemText(one).text) : []
  const said = typeof detail === 'string' ? detail : 'no reason given'
  const short = typeof type === 'string' ? type.slice(type.lastIndexOf(':') + 1) : ''
  // Text from the server, sanitized for a log line and a terminal.
  const text = [said, ...parts]
    .join(' · ')
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, 1000)
  return { type: short, text }
}

function accepted(answered: AcmeResponse, now: number): AcmeResponse {
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
    return undefined // An error page of a proxy. The status is sufficient.
  }
}

function objectIn<T>(answered: AcmeResponse, url: string): T {
  const value = jsonIn(answered.text)
  if (typeof value !== 'object' || value === null) throw new AcmeProblem('', `${url} did not return JSON.`)
  return value as T
}

/** Reads Retry-After in seconds or as a date (RFC 9110 §10.2.3). */
function retryAfter({ headers }: AcmeResponse, now: number): number {
  const value = headers['retry-after']
  if (value === undefined) return 0
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
