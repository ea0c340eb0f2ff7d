/** The TLS certificates that this host shows: whose, how long they hold, and for which name. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { certificateFile, certificateFiles, readMemory, type Memory } from '../certificates/certificates.ts'
import type { Config } from '../config/config.ts'
import type { Finding } from '../mail/finding.ts'

/** A certificate that could be read, or why not; `made`: it will be made at the first start. */
export type CertificateFacts = { file: string } & (
  { certificate: X509Certificate } | { note: string } | { made: true }
)

const DAY = 24 * 3_600_000
/**
 * Automatic renewal happens 30 days before the end: after this it has failed several times. Of certificates that live
 * for days only, a quarter of the life.
 */
const WARN_DAYS = 14
const WARN_PART = 1 / 4

/** A certificate of this appliance, and the name that it must have; null where its own names are right. */
export interface ShownCertificate {
  facts: CertificateFacts
  hostname: string | null
}

/** Reads all certificates that listeners may show, the host's own first. Never rejects. */
export async function readCertificates(
  config: Pick<Config, 'hostname' | 'data_dir' | 'tls' | 'acme'>,
): Promise<ShownCertificate[]> {
  const { hostname, tls, acme, data_dir: dataDir } = config
  const issued = acme.agree_terms ? await certificateFiles(dataDir).catch(() => []) : []
  const ofHost = certificateFile(dataDir, hostname.toLowerCase())
  const own = tls.cert ?? (issued.includes(ofHost) ? ofHost : undefined)
  const others = [...tls.additional.map(({ cert }) => cert), ...issued.filter((file) => file !== own)]
  const read = async (file: string | undefined, name: string | null): Promise<ShownCertificate> => ({
    facts: await readCertificate(file, dataDir),
    hostname: name,
  })
  return Promise.all([read(own, hostname), ...others.map((file) => read(file, null))])
}

/** What an authority did not give, and why. Never rejects; nothing where no authority is asked. */
export async function examineAttempts({
  data_dir: dataDir,
  acme,
}: Pick<Config, 'data_dir' | 'acme'>): Promise<Finding[]> {
  if (!acme.agree_terms) return []
  try {
    return judgeAttempts(await readMemory(dataDir))
  } catch (error) {
    const found = `What the authority said is not known: ${(error as Error).message}.`
    return [{ id: 'acme', title: 'Certificates', status: 'failed', found, advice: 'See who owns data_dir.' }]
  }
}

/** Judges what is remembered of tries. Pure. */
function judgeAttempts({ certificates }: Memory): Finding[] {
  return Object.entries(certificates).flatMap(([id, { failures, error, retryAt, directory }]): Finding[] => {
    if (failures === 0) return []
    const again = new Date(retryAt).toISOString().slice(0, 16).replace('T', ' ')
    return [
      {
        id: `acme:${id}`,
        title: `Certificate for ${id}`,
        // One that is there goes on being used, and its end is judged by itself.
        status: directory === null ? 'failed' : 'warning',
        found: `The authority gave none, ${failures === 1 ? 'once' : `${failures} times`} in a row: ${error ?? ''}`,
        advice: `It is tried again at ${again} UTC. When you put it right: posthaste certificate issue.`,
      },
    ]
  })
}

/** Reads the host's certificate from its file, or the self-signed one of the data directory. Never rejects. */
export async function readCertificate(file: string | undefined, dataDir: string): Promise<CertificateFacts> {
  const own = join(dataDir, 'tls', 'self-signed.json')
  const path = file ?? own
  try {
    const text = await readFile(path, 'utf8')
    const pem = file === undefined ? (JSON.parse(text) as { cert: string }).cert : text
    return { file: path, certificate: new X509Certificate(pem) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (file === undefined && code === 'ENOENT') return { file: path, made: true }
    return { file: path, note: code ?? message }
  }
}

/**
 * Judges a certificate.
 * @param hostname must be among its names; null for the additional ones, which have names of their own
 * @param now Unix milliseconds
 */
export function judgeCertificate(facts: CertificateFacts, hostname: string | null, now: number): Finding {
  const { file } = facts
  const about = { id: `certificate:${file}`, title: `TLS certificate ${file}` }
  const renew =
    'Let the server get one ([acme] in the configuration), or name one of a public authority in tls.cert and tls.key.'
  if ('made' in facts)
    return {
      ...about,
      status: 'warning',
      found: 'No certificate is configured: a self-signed one is made at the first start.',
      advice: renew,
    }
  if ('note' in facts)
    return {
      ...about,
      status: 'failed',
      found: `${file} cannot be read (${facts.note}).`,
      advice: 'Correct tls.cert or the permissions of the file; it must be PEM.',
    }
  const { certificate } = facts
  const [begins, ends] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  const date = new Date(ends).toISOString().slice(0, 10)
  if (now > ends || now < begins)
    return {
      ...about,
      status: 'failed',
      found:
        now > ends ? `It ended on ${date}: clients refuse it.` : 'It is not valid yet: is the clock right?',
      advice: 'Renew it; the files are read again when they change.',
    }
  if (hostname !== null && !certificate.checkHost(hostname))
    return {
      ...about,
      status: 'failed',
      found: `It is for ${certificate.subjectAltName ?? certificate.subject}, not for ${hostname}.`,
      advice: `Get one for ${hostname}.`,
    }
  if (certificate.issuer === certificate.subject)
    return {
      ...about,
      status: 'warning',
      found: `It is self-signed (until ${date}): apps must be told to trust it.`,
      advice: renew,
    }
  const days = Math.floor((ends - now) / DAY)
  if (ends - now < Math.min(WARN_DAYS * DAY, (ends - begins) * WARN_PART))
    return {
      ...about,
      status: 'warning',
      found: `It ends in ${days} days, on ${date}.`,
      advice: 'Automatic renewal should have replaced it by now: see why it has not.',
    }
  return { ...about, status: 'ok', found: `${hostname ?? 'It'} is certified until ${date}.`, advice: null }
}
