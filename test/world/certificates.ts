import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** A certificate and its key, created by openssl for one test. */
export interface Made {
  /** The certificate and its key, each as PEM. */
  cert: string
  key: string
  x509: X509Certificate
}

export interface MakeOptions {
  /** The subject's common name. */
  name: string
  /** Names and addresses for the subjectAltName extension. If missing, the extension is omitted. */
  hosts?: string[]
  /** The issuer. If missing, the certificate is self-signed. */
  by?: Made
  ca?: boolean
  /** Extended key usage, such as `serverAuth`. If missing, the extension is omitted. */
  use?: string
  /** Days of validity from now. A negative number creates an expired certificate. */
  days?: number
}

/** Creates certificates in a temporary folder, which `close` removes. */
export async function createCertificates(): Promise<{
  make(options: MakeOptions): Promise<Made>
  close(): Promise<void>
}> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-certificates-'))
  let count = 0
  return {
    async make({ name, hosts = [], by, ca = false, use, days = 30 }) {
      const base = join(folder, String(++count))
      const extensions = [
        `basicConstraints=critical,CA:${ca ? 'TRUE' : 'FALSE'}`,
        ...(ca ? ['keyUsage=critical,keyCertSign'] : []),
        ...(use ? [`extendedKeyUsage=${use}`] : []),
        ...(hosts.length > 0
          ? [`subjectAltName=${hosts.map((host) => `${isIP(host) > 0 ? 'IP' : 'DNS'}:${host}`).join(',')}`]
          : []),
        'subjectKeyIdentifier=hash',
      ]
      await writeFile(`${base}.ext`, extensions.map((line) => `${line}\n`).join(''))
      const subject = ['-subj', `/CN=${name}`]
      const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
      await execute('openssl', [
        'req',
        ...newKey,
        '-keyout',
        `${base}.key`,
        '-out',
        `${base}.csr`,
        ...subject,
      ])
      if (by) await writeFile(`${base}.ca`, by.cert + by.key)
      const signer = by
        ? ['-CA', `${base}.ca`, '-CAkey', `${base}.ca`, '-CAserial', `${base}.srl`, '-CAcreateserial']
        : ['-signkey', `${base}.key`]
      const signing = ['x509', '-req', '-in', `${base}.csr`, ...signer, '-extfile', `${base}.ext`]
      await execute('openssl', [...signing, '-days', String(days), '-out', `${base}.pem`])
      const cert = await readFile(`${base}.pem`, 'utf8')
      return { cert, key: await readFile(`${base}.key`, 'utf8'), x509: new X509Certificate(cert) }
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
