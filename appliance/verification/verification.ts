/**
 * Checks whether a received message comes from its claimed sender (SPF, DKIM, DMARC, ARC), using mailauth. mailauth has
 * no limits of its own, so this file limits signatures, queries and time.
 */
import { Readable } from 'node:stream'
import type { AuthenticateResult, DNSResolver } from 'mailauth'
import type { Clock } from '../clock/clock.ts'
import type { RecordType, Resolver } from '../dns/dns.ts'
import { getUnfoldedValue, splitMessage, type HeaderField } from '../mail/headers.ts'
import { AUTH_RESULTS, type Authentication, type AuthResult, type AuthVerdict } from '../mail/inbound.ts'

export { addTraceFields } from './trace.ts'

/** A message and how it was received. */
export interface VerifyArgs {
  bytes: Uint8Array
  ip: string
  helo: string
  /** The envelope sender; empty for the null reverse-path. */
  mailFrom: string
}

/**
 * Limits for one message: signatures and ARC seals to verify (RFC 6376 §6.1 allows a limit), DNS queries, and
 * milliseconds.
 */
const MOST_SIGNATURES = 10
const MOST_SEALS = 10
const MOST_QUERIES = 60
const DEADLINE_MS = 10_000
/** Chunk size for hashing. The event loop runs after each chunk. */
const PIECE = 64 * 1024

const unknown = (result: AuthResult): AuthVerdict => ({ result, domain: null })

/** The result for a message that couldn't be checked. */
const IN_DOUBT: Authentication = {
  spf: unknown('temperror'),
  dkim: unknown('temperror'),
  dmarc: unknown('temperror'),
  arc: unknown('temperror'),
}

/** Checks a message. Never rejects. After ten seconds, every result is `temperror`. */
export async function verifyMessage(
  args: VerifyArgs,
  { resolver, clock, hostname }: { resolver: Pick<Resolver, 'resolve'>; clock: Clock; hostname: string },
): Promise<Authentication> {
  let cancel: () => void = () => undefined
  const late = new Promise<Authentication>((resolve) => {
    cancel = clock.after(DEADLINE_MS, () => resolve(IN_DOUBT))
  })
  // A message may be crafted to crash the verifier, so an error proves nothing for or against its sender.
  const checked = check(args, resolver, hostname).catch(() => IN_DOUBT)
  try {
    return await Promise.race([checked, late])
  } finally {
    cancel()
  }
}

async function check(
  { bytes, ip, helo, mailFrom }: VerifyArgs,
  resolver: Pick<Resolver, 'resolve'>,
  hostname: string,
): Promise<Authentication> {
  const { pieces, sealed } = bounded(bytes)
  // Loaded when the first message is received, because it takes 20 MB.
  const { authenticate } = await import('mailauth')
  const result = await authenticate(Readable.from(pieces, { objectMode: false }), {
    ip,
    helo,
    sender: mailFrom,
    mta: hostname,
    resolver: createMailauthResolver(resolver, MOST_QUERIES),
    trustReceived: false,
    disableBimi: true,
    disableArc: !sealed,
  })
  return summarize(result)
}

/** Splits a message into chunks, without signatures beyond the limit. Signatures of the From domain come first. */
function bounded(bytes: Uint8Array): { pieces: Buffer[]; sealed: boolean } {
  const { fields, bodyOffset } = splitMessage(bytes)
  const signatures = fields.filter((field) => named(field, 'dkim-signature'))
  const from = fields.find((field) => named(field, 'from'))
  const domain = from && /@([\w.-]+)[^@]*$/.exec(getUnfoldedValue(from).slice(-1000))?.[1]?.toLowerCase()
  const isOwn = (field: HeaderField): boolean =>
    domain !== undefined &&
    (/[;\s]d=\s*([\w.-]+)/i.exec(`;${getUnfoldedValue(field)}`)?.[1]?.toLowerCase() ?? '') === domain
  const tried = new Set(
    signatures.toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a))).slice(0, MOST_SIGNATURES),
  )
  const seals = fields.filter((field) => named(field, 'arc-seal')).length
  const header = fields
    .filter((field) => !named(field, 'dkim-signature') || tried.has(field))
    .map(({ raw }) => raw)
  const body = Buffer.from(bytes.buffer, bytes.byteOffset + bodyOffset, bytes.length - bodyOffset)
  const pieces: Buffer[] = [Buffer.concat([...header, Buffer.from('\r\n')])]
  for (let at = 0; at < body.length; at += PIECE) pieces.push(body.subarray(at, at + PIECE))
  return { pieces, sealed: seals > 0 && seals <= MOST_SEALS }
}

const named = ({ name }: HeaderField, wanted: string): boolean => name.toLowerCase() === wanted

const KNOWN = new Set<string>(AUTH_RESULTS)

const resultOf = (text: string | undefined): AuthResult =>
  text !== undefined && KNOWN.has(text) ? (text as AuthResult) : 'none'

function summarize({ spf, dkim, dmarc, arc }: AuthenticateResult): Authentication {
  // With `l=`, anyone can append text (RFC 6376 §8.2), so such a signature doesn't cover the whole message.
  const whole = dkim.results.filter(({ status }) => !status.underSized)
  const best =
    whole.find(({ status }) => status.result === 'pass' && status.aligned) ??
    whole.find(({ status }) => status.result === 'pass') ??
    dkim.results.find(({ status }) => status.result !== 'pass')
  const fromDomain = dkim.headerFrom[0]?.split('@').at(-1) ?? null
  return {
    spf: spf ? { result: resultOf(spf.status.result), domain: spf.domain } : unknown('none'),
    dkim: best
      ? { result: resultOf(best.status.result), domain: best.signingDomain ?? null }
      : unknown('none'),
    dmarc: { result: dmarc ? resultOf(dmarc.status.result) : 'none', domain: fromDomain },
    arc: unknown(arc ? resultOf(arc.status.result) : 'none'),
  }
}

/** Creates an error like those of `node:dns`, which mailauth distinguishes by code. */
function dnsError(code: string, name: string): Error {
  return Object.assign(new Error(`${code} ${name}`), { code })
}

const TYPES = new Set<string>(['A', 'AAAA', 'MX', 'TXT', 'PTR', 'CNAME', 'NS'] satisfies RecordType[])

/**
 * Adapts our resolver to mailauth, which expects the interface of `dns.promises.resolve`.
 * @param most maximum number of queries; further queries fail as if no server responded
 */
export function createMailauthResolver(resolver: Pick<Resolver, 'resolve'>, most = Infinity): DNSResolver {
  let asked = 0
  const lookup = async (name: string, type: string): Promise<unknown[]> => {
    if (!TYPES.has(type)) throw dnsError('ENODATA', name)
    if (++asked > most) throw dnsError('ESERVFAIL', name)
    const answer = await resolver.resolve(name, type as RecordType)
    if (answer.kind === 'failed') throw dnsError('ESERVFAIL', name)
    if (answer.kind === 'absent') throw dnsError(answer.why === 'nxdomain' ? 'ENOTFOUND' : 'ENODATA', name)
    return answer.records.map((record) => {
      if (typeof record === 'string') return type === 'TXT' ? [record] : record
      return 'exchange' in record ? { priority: record.preference, exchange: record.exchange } : record
    })
  }
  // The type allows strings only, but MX records are objects, as in node:dns.
  return lookup as DNSResolver
}
