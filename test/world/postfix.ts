import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freeAddress } from './addresses.ts'

const execute = promisify(execFile)

/** A real Postfix, with its own configuration and queue, as a receiver on port 25 of a loopback address. Needs root. */
export interface Postfix {
  readonly address: string
  /** The messages in its mailbox, as delivered. */
  messages(): Promise<string[]>
  /** Waits until so many are there. */
  waitFor(count: number): Promise<string[]>
  log(): Promise<string>
  close(): Promise<void>
}

const SERVICES = `
cleanup   unix  n - n - 0    cleanup
qmgr      unix  n - n 300 1  qmgr
tlsmgr    unix  - - n 1000? 1 tlsmgr
rewrite   unix  - - n - -    trivial-rewrite
bounce    unix  - - n - 0    bounce
defer     unix  - - n - 0    bounce
trace     unix  - - n - 0    bounce
verify    unix  - - n - 1    verify
flush     unix  n - n 1000? 0 flush
proxymap  unix  - - n - -    proxymap
error     unix  - - n - -    error
retry     unix  - - n - -    error
discard   unix  - - n - -    discard
virtual   unix  - n n - -    virtual
anvil     unix  - - n - 1    anvil
scache    unix  - - n - 1    scache
postlog   unix-dgram n - n - 1 postlogd
`

async function idOf(user: string, option: '-u' | '-g'): Promise<number> {
  return Number((await execute('id', [option, user])).stdout)
}

/** Starts a Postfix that takes mail for `domain`, offers STARTTLS, and is called `host`. */
export async function startPostfix({ domain, host }: { domain: string; host: string }): Promise<Postfix> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-postfix-'))
  const [etc, queue, data, mail] = ['etc', 'queue', 'data', 'mail'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ]
  await chmod(folder, 0o755)
  for (const path of [etc, queue, data, mail]) await mkdir(path)
  const [uid, gid] = [await idOf('postfix', '-u'), await idOf('postfix', '-g')]
  await chown(data, uid, gid)
  await chown(mail, uid, gid)
  const address = freeAddress()
  const settings = {
    compatibility_level: '3.6',
    myhostname: host,
    mydestination: '',
    // It must be an address of an interface; where it listens is in master.cf.
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    queue_directory: queue,
    data_directory: data,
    maillog_file: join(folder, 'log'),
    maillog_file_prefixes: folder,
    virtual_mailbox_domains: domain,
    virtual_mailbox_base: mail,
    virtual_mailbox_maps: 'static:inbox/',
    virtual_uid_maps: `static:${uid}`,
    virtual_gid_maps: `static:${gid}`,
    virtual_minimum_uid: '1',
    alias_maps: '',
    smtpd_tls_security_level: 'may',
    smtpd_tls_received_header: 'yes',
    smtpd_tls_cert_file: join(import.meta.dirname, 'tls', 'self-signed.pem'),
    smtpd_tls_key_file: join(import.meta.dirname, 'tls', 'self-signed.key'),
    smtpd_recipient_restrictions: 'reject_unauth_destination',
  }
  await writeFile(
    join(etc, 'main.cf'),
    Object.entries(settings)
      .map(([key, value]) => `${key} = ${value}\n`)
      .join(''),
  )
  await writeFile(join(etc, 'master.cf'), `${address}:25 inet n - n - - smtpd${SERVICES}`)
  await execute('postfix', ['-c', etc, 'start'])

  const messages = async (): Promise<string[]> => {
    const names = await readdir(join(mail, 'inbox', 'new')).catch(() => [])
    return Promise.all(names.sort().map((name) => readFile(join(mail, 'inbox', 'new', name), 'latin1')))
  }
  const log = (): Promise<string> => readFile(join(folder, 'log'), 'utf8').catch(() => '')
  return {
    address,
    messages,
    log,
    async waitFor(count) {
      const end = Date.now() + 10_000
      for (;;) {
        const found = await messages()
        if (found.length >= count) return found
        if (Date.now() > end)
          throw new Error(`${found.length} of ${count} messages; the log:\n${await log()}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async close() {
      await execute('postfix', ['-c', etc, 'stop']).catch(() => undefined) // not started, or gone already
      await rm(folder, { recursive: true, force: true })
    },
  }
}
