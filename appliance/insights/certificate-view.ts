/** Lists the server's certificates, and failed attempts to get one, for the dashboard and command line. */
import type { X509Certificate } from 'node:crypto'
import { getCertificateNames, readAcmeState, type IssuanceState } from '../certificates/certificates.ts'
import type { Config } from '../config/config.ts'
import type { CertificateView } from '../mail/node.ts'
import { readCertificates, type ServerCertificate } from './certificate.ts'

/** Reads the certificates, the host's own first. Rejects if the data directory can't be read. */
export async function loadCertificateViews(
  config: Pick<Config, 'hostname' | 'data_dir' | 'tls' | 'acme'>,
): Promise<CertificateView[]> {
  const shown = await readCertificates(config)
  const tried: Record<string, IssuanceState> = config.acme.agree_terms
    ? (await readAcmeState(config.data_dir)).certificates
    : {}
  const views = shown.map((one) => viewOf(one, config, tried))
  const known = new Set(views.filter(({ source }) => source === 'authority').map(({ name }) => name))
  const missing = Object.entries(tried).flatMap(([name, attempts]) =>
    known.has(name) || attempts.failures === 0 ? [] : [{ ...nothing(name), ...triesOf(attempts) }],
  )
  return [...views, ...missing]
}

const triesOf = ({ failures, error, retryAt, renewAt }: IssuanceState) => ({
  failures,
  error,
  renewAt,
  retryAt: failures > 0 ? retryAt : null,
})

const nothing = (name: string): CertificateView => ({
  name,
  source: 'authority',
  file: null,
  names: [],
  issuer: null,
  validFrom: null,
  validUntil: null,
  renewAt: null,
  failures: 0,
  error: null,
  retryAt: null,
})

function viewOf(
  { facts, hostname }: ServerCertificate,
  { data_dir: dataDir, tls }: Pick<Config, 'data_dir' | 'tls'>,
  tried: Readonly<Record<string, IssuanceState>>,
): CertificateView {
  const { file } = facts
  const configured = [tls.cert, ...tls.additional.map(({ cert }) => cert)].includes(file)
  const source = configured ? 'file' : file.startsWith(`${dataDir}/acme/`) ? 'authority' : 'self_signed'
  if (!('certificate' in facts))
    return { ...nothing(hostname ?? file), source, file, error: 'note' in facts ? facts.note : null }
  const { certificate } = facts
  const names = getCertificateNames(certificate)
  const id = file.slice(file.lastIndexOf('/') + 1, -'.pem'.length)
  const name = source === 'authority' ? id : (names[0] ?? hostname ?? file)
  const attempts = source === 'authority' ? tried[id] : undefined
  return {
    ...nothing(name),
    source,
    file,
    names,
    issuer: issuerOf(certificate),
    validFrom: Date.parse(certificate.validFrom),
    validUntil: Date.parse(certificate.validTo),
    ...(attempts ? triesOf(attempts) : {}),
  }
}

/** Returns the organization or common name of the issuer. */
function issuerOf({ issuer }: X509Certificate): string {
  const parts = new Map(issuer.split('\n').map((line) => line.split('=', 2) as [string, string]))
  return parts.get('O') ?? parts.get('CN') ?? issuer.replaceAll('\n', ', ')
}
