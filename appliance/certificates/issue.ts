/** Obtains one certificate, from the order to the chain (RFC 8555 §7.4). */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import type { CertificatePair } from '../wire/self-signed.ts'
import type { Challenges, ChallengeType } from './challenges.ts'
import {
  AcmeProblem,
  problemText,
  type AcmeClient,
  type Authorization,
  type Challenge,
  type Order,
  type Resource,
} from './client.ts'
import { createSigningRequest } from './csr.ts'
import { getCertificateNames, type WantedCertificate } from './plan.ts'

export interface IssueDeps {
  client: AcmeClient
  challenges: Challenges
  challenge: ChallengeType
  clock: Clock
  signal: AbortSignal
  /** Called when a challenge response couldn't be removed. The order continues, because validation is complete. */
  onLeft: (name: string, reason: Error) => void
}

/** Time limit of one step at the ACME server, in milliseconds. Steps normally take seconds. */
const LONGEST = 5 * 60_000
const [SHORT_PAUSE, LONG_PAUSE] = [1000, 15_000]

/** Obtains a certificate. Rejects with an `AcmeProblem`, or with the error of the network or the hook. */
export async function issueCertificate(
  deps: IssueDeps,
  wanted: WantedCertificate,
  replaces?: string,
): Promise<CertificatePair> {
  const { client } = deps
  const order = await newOrder(client, wanted, replaces)
  for (const url of order.value.authorizations) await authorize(deps, url)
  const { csr, key } = await createSigningRequest(wanted.names)
  const ready = await settled<Order>(deps, order, ['pending'])
  if (ready.value.status === 'ready')
    await client.post(order.value.finalize, { csr: csr.toString('base64url') })
  const done = await settled<Order>(deps, order, ['pending', 'ready', 'processing'])
  if (done.value.status !== 'valid' || done.value.certificate === undefined)
    throw failure(`The order for ${wanted.id} became ${done.value.status}`, done.value.error)
  return checked({ cert: await client.certificate(done.value.certificate), key }, wanted)
}

/**
 * Creates an order that names the certificate it replaces (RFC 9773 §5). If the server refuses the replacement, creates
 * a plain order.
 */
async function newOrder(
  client: AcmeClient,
  { names }: WantedCertificate,
  replaces: string | undefined,
): Promise<Resource<Order>> {
  if (replaces === undefined) return client.newOrder(names)
  try {
    return await client.newOrder(names, replaces)
  } catch (error) {
    if (!(error instanceof AcmeProblem) || error.type === 'rateLimited') throw error
    return client.newOrder(names)
  }
}

async function authorize(deps: IssueDeps, url: string): Promise<void> {
  const { client, challenges, challenge: type, onLeft } = deps
  const asked = await client.get<Authorization>(url)
  const { identifier, status, challenges: offered } = asked.value
  if (status === 'valid') return
  const challenge = offered.find((one) => one.type === type)
  if (!challenge)
    throw new AcmeProblem(
      '',
      `The authority does not offer ${type} for ${identifier.value}, only ${offered.map((one) => one.type).join(', ')}. Set acme.challenge.`,
    )
  const key = client.keyAuthorization(challenge.token)
  const withdraw = await challenges.present(type, identifier.value, challenge.token, key)
  try {
    await client.post<Challenge>(challenge.url, {})
    const done = await settled<Authorization>(deps, { ...asked, url }, ['pending'])
    if (done.value.status !== 'valid') {
      const said = done.value.challenges.find((one) => one.error !== undefined)?.error
      throw failure(`The authority could not validate ${identifier.value} with ${type}`, said)
    }
  } finally {
    await withdraw().catch((error: unknown) => onLeft(identifier.value, error as Error))
  }
}

/** Polls until the state isn't in `waiting` any more, as often as Retry-After says (RFC 8555 §7.5.1). */
async function settled<T extends { status: string }>(
  { client, clock, signal }: IssueDeps,
  { url }: Resource<unknown>,
  waiting: readonly string[],
): Promise<Resource<T>> {
  const end = clock.now() + LONGEST
  for (let pause = SHORT_PAUSE; ; pause = Math.min(LONG_PAUSE, pause * 1.5)) {
    const found = await client.get<T>(url)
    if (!waiting.includes(found.value.status)) return found
    if (clock.now() > end) throw new Error(`${url} is still ${found.value.status} after five minutes.`)
    await sleep(clock, Math.min(LONGEST, Math.max(pause, found.retryAfter)), signal)
  }
}

function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel()
      reject(signal.reason as Error)
    }
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

function failure(what: string, problem: unknown): AcmeProblem {
  const { type, text } = problemText(problem)
  return new AcmeProblem(type, `${what}: ${text}${type === '' ? '' : ` (${type})`}`)
}

/** Checks a new certificate before it replaces a working one. */
function checked(pair: CertificatePair, wanted: WantedCertificate): CertificatePair {
  const certificate = new X509Certificate(pair.cert)
  if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
    throw new Error('The authority issued a certificate for a different key.')
  const names = getCertificateNames(certificate)
  const missing = wanted.names.filter((name) => !names.includes(name.toLowerCase()))
  if (missing.length > 0) throw new Error(`The authority issued a certificate without ${missing.join(', ')}.`)
  return pair
}
