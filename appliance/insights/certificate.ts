/** Checks the TLS certificates of this host: their source, expiry and names. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  getCertificatePath,
  listCertificatePaths,
  readAcmeState,
  type AcmeState,
} from '../certificates/certificates.ts'
import type { Config } from '../config/config.ts'
import type { Finding } from '../mail/finding.ts'

/** A certificate, or why it can't be read; `made`: it will be created at the first start. */
export type CertificateFacts = { file: string } & (
  { certificate: X509Certificate } | { note: string } | { made: true }
)

const DAY = 24 * 3_600_000
/**
 * Remaining lifetime below which a warning is shown. Automatic renewal starts 30 days before expiry, so by then it has
 * failed several times. For certificates that are valid for days, the limit is a quarter of their lifetime.
 */
const WARN_DAYS = 14
const WARN_PART = 1 / 4

/** A certificate of this server, and the host name that it must contain; null if it only needs its own names. */
export interface ServerCertificate {
  facts: CertificateFacts
  hostname: string | null
}

/** Reads all certificates that listeners may use, the host's own first. Never rejects. */
export async function readCertificates(
  config: Pick<Config, 'hostname' | 'data_dir' | 'tls' | 'acme'>,
): Promise<ServerCertificate[]> {
  const { hostname, tls, acme, data_dir: dataDir } = config
  const issued = acme.agree_terms ? await listCertificatePaths(dataDir).catch(() => []) : []
  const ofHost = getCertificatePath(dataDir, hostname.toLowerCase())
  const own = tls.cert ?? (issued.includes(ofHost) ? ofHost : undefined)
  const others = [...tls.additional.map(({ cert }) => cert), ...issued.filter((file) => file !== own)]
  const read = async (file: string | undefined, name: string | null): Promise<ServerCertificate> => ({
    facts: await readCertificate(file, dataDir),
    hostname: name,
  })
  return Promise.all([read(own, hostname), ...others.map((file) => read(file, null))])
}

/** Reports the certificates that the CA did not issue, and why. Never rejects; empty if ACME is off. */
export async function checkIssuance({
  data_dir: dataDir,
  acme,
}: Pick<Config, 'data_dir' | 'acme'>): Promise<Finding[]> {
  if (!acme.agree_terms) return []
  try {
    return judgeAttempts(await readAcmeState(dataDir))
  } catch (error) {
    const found = `The state of certificate orders is unknown: ${(error as Error).message}.`
    return [
      {
        id: 'acme',
        title: 'Certificates',
        status: 'failed',
        found,
        advice: 'Check the owner and permissions of data_dir.',
      },
    ]
  }
}

/** Evaluates the recorded attempts. Pure. */
function judgeAttempts({ certificates }: AcmeState): Finding[] {
  return Object.entries(certificates).flatMap(([id, { failures, error, retryAt, directory }]): Finding[] => {
    if (failures === 0) return []
    const again = new Date(retryAt).toISOString().slice(0, 16).replace('T', ' ')
    return [
      {
        id: `acme:${id}`,
        title: `Certificate for ${id}`,
        // An existing certificate stays in use, and its expiry is checked separately.
        status: directory === null ? 'failed' : 'warning',
        found: `The certificate authority did not issue a certificate (${failures === 1 ? '1 failed attempt' : `${failures} failed attempts`}): ${error ?? ''}`,
        advice: `The next attempt is at ${again} UTC. To retry now, run: posthaste certificate issue.`,
      },
    ]
  })
}

/** Reads the host's certificate from its file, or the self-signed one in the data directory. Never rejects. */
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
 * Checks a certificate.
 *
 * @param hostname must be among its names; null for additional ones, which have their own names
 *
 * @param now Unix milliseconds
 */
export function evaluateCertificate(facts: CertificateFacts, hostname: string | null, now: number): Finding {
  const { file } = facts
  const about = { id: `certificate:${file}`, title: `TLS certificate ${file}` }
  const renew =
    'Let the server obtain one ([acme] in the configuration), or set tls.cert and tls.key to one from a public authority.'
  if ('made' in facts)
    return {
      ...about,
      status: 'warning',
      found: 'No certificate is configured. The server creates a self-signed one at the first start.',
      advice: renew,
    }
  if ('note' in facts)
    return {
      ...about,
      status: 'failed',
      found: `${file} cannot be read (${facts.note}).`,
      advice: 'Correct tls.cert or the permissions of the file. It must be in PEM format.',
    }
  const { certificate } = facts
  const [begins, ends] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  const date = new Date(ends).toISOString().slice(0, 10)
  if (now > ends || now < begins)
    return {
      ...about,
      status: 'failed',
      found:
        now > ends ? `It expired on ${date}, so clients reject it.` : 'It is not valid yet. Check the clock.',
      advice: 'Renew it. The server reloads the files when they change.',
    }
  if (hostname !== null && !certificate.checkHost(hostname))
    return {
      ...about,
      status: 'failed',
      found: `It is for ${certificate.subjectAltName ?? certificate.subject}, not for ${hostname}.`,
      advice: `Get a certificate for ${hostname}.`,
    }
  if (certificate.issuer === certificate.subject)
    return {
      ...about,
      status: 'warning',
      found: `It is self-signed (valid until ${date}), so apps must be configured to trust it.`,
      advice: renew,
    }
  const days = Math.floor((ends - now) / DAY)
  if (ends - now < Math.min(WARN_DAYS * DAY, (ends - begins) * WARN_PART))
    return {
      ...about,
      status: 'warning',
      found: `It expires in ${days} days, on ${date}.`,
      advice: 'Automatic renewal should have replaced it by now. Find out why it did not.',
    }
  return {
    ...about,
    status: 'ok',
    found: `Valid until ${date}${hostname === null ? '' : ` for ${hostname}`}.`,
    advice: null,
  }
}
