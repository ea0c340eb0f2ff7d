import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeAddress } from './addresses.ts'
import { createCertificates } from './certificates.ts'

/**
 * A test certificate authority: Pebble, Let's Encrypt's test server, with a DNS that maps every name to one address.
 */
export interface Authority {
  /** The URL of its ACME directory, and the CA of its HTTPS server as a file and as text. */
  directory: string
  caFile: string
  ca: string
  /** Every name resolves to this address. Challenges go to ports 5080 (http-01) and 5443 (tls-alpn-01). */
  address: string
  /** The API that sets TXT records, as `http://host:port`. */
  dns: string
  /** Returns the issuing root certificate as PEM. */
  root(): Promise<string>
  close(): Promise<void>
}

export interface AuthorityOptions {
  /** External account binding: keys by key ID. */
  customers?: Record<string, string>
  /** Percentage of valid nonces to reject. */
  nonceReject?: number
}

const folderOf = () => mkdtemp(join(tmpdir(), 'posthaste-authority-'))

/** Starts Pebble and its DNS server. `close` stops both. */
export async function startAuthority(options: AuthorityOptions = {}): Promise<Authority> {
  const { customers, nonceReject = 0 } = options
  const [folder, made] = await Promise.all([folderOf(), createCertificates()])
  const [host, address] = [freeAddress(), freeAddress()]
  const ca = await made.make({ name: 'Test authority of the authority', ca: true })
  const own = await made.make({ name: 'pebble.test', hosts: [host], by: ca, use: 'serverAuth' })
  await made.close()
  const file = (name: string) => join(folder, name)
  await writeFile(file('cert.pem'), own.cert)
  await writeFile(file('key.pem'), own.key)
  await writeFile(file('ca.pem'), ca.cert)
  const pebble = {
    listenAddress: `${host}:14000`,
    managementListenAddress: `${host}:15000`,
    certificate: file('cert.pem'),
    privateKey: file('key.pem'),
    httpPort: 5080,
    tlsPort: 5443,
    externalAccountBindingRequired: customers !== undefined,
    ...(customers ? { externalAccountMACKeys: customers } : {}),
  }
  await writeFile(file('pebble.json'), JSON.stringify({ pebble }))
  const env = {
    ...process.env,
    PEBBLE_VA_NOSLEEP: '1',
    PEBBLE_AUTHZREUSE: '0',
    PEBBLE_WFE_NONCEREJECT: String(nonceReject),
  }
  const dns = [
    '-dns01',
    `${host}:8053`,
    '-management',
    `${host}:8055`,
    '-defaultIPv4',
    address,
    '-defaultIPv6',
    '',
    '-http01',
    '',
    '-https01',
    '',
    '-tlsalpn01',
    '',
  ]
  const children = [
    spawn('pebble-challtestsrv', dns, { stdio: 'ignore' }),
    spawn('pebble', ['-config', file('pebble.json'), '-dnsserver', `${host}:8053`], { env, stdio: 'ignore' }),
  ]
  await Promise.all([14000, 15000, 8055].map((port) => listening(host, port)))
  return {
    directory: `https://${host}:14000/dir`,
    caFile: file('ca.pem'),
    ca: ca.cert,
    address,
    dns: `http://${host}:8055`,
    root: () => read(`https://${host}:15000/roots/0`),
    async close() {
      await Promise.all(children.map(end))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill()
  await gone
}

async function listening(host: string, port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const socket = connect(port, host)
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (open) return
    if (tries > 900)
      throw new Error(`nobody listens at ${host}:${port}; is Debian's package pebble installed?`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Fetches a URL without verifying the server's certificate. */
function read(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })
}
