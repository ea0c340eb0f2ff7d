import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freeAddress } from './addresses.ts'

const execute = promisify(execFile)

/** A real Postfix with its own configuration, queue and log, on port 25 of a loopback address. Needs root. */
export interface PostfixInstance {
  readonly address: string
  /** The configuration folder, for `postfix -c` and related commands. */
  readonly etc: string
  readonly log: () => Promise<string>
  readonly close: () => Promise<void>
}

export interface PostfixFolders {
  /** Contains all files of the instance and is removed with it. */
  folder: string
  /** For mailboxes; owned by Postfix's user. */
  mail: string
  /** User and group ID of Postfix's user. */
  uid: number
  gid: number
}

export interface PostfixSetup {
  /** Additional main.cf parameters. They override the defaults of all instances. */
  settings: Record<string, string | number>
  /** Additional lines for master.cf. */
  services?: string
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

/** Starts a Postfix. `setup` receives its folders and returns its settings. */
export async function startPostfixInstance(
  setup: (folders: PostfixFolders) => PostfixSetup,
): Promise<PostfixInstance> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-postfix-'))
  const inside = (name: string): string => join(folder, name)
  const [etc, queue, data, mail] = [inside('etc'), inside('queue'), inside('data'), inside('mail')]
  await chmod(folder, 0o755)
  for (const path of [etc, queue, data, mail]) await mkdir(path)
  const [uid, gid] = [await idOf('postfix', '-u'), await idOf('postfix', '-g')]
  await chown(data, uid, gid)
  await chown(mail, uid, gid)
  const { settings, services = '' } = setup({ folder, mail, uid, gid })
  const all = {
    compatibility_level: '3.6',
    mydestination: '',
    alias_maps: '',
    // This must be the address of an interface. The listening address is set in master.cf.
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    queue_directory: queue,
    data_directory: data,
    maillog_file: inside('log'),
    maillog_file_prefixes: folder,
    ...settings,
  }
  const lines = Object.entries(all).map(([key, value]) => `${key} = ${value}\n`)
  await writeFile(join(etc, 'main.cf'), lines.join(''))
  const address = freeAddress()
  await writeFile(join(etc, 'master.cf'), `${address}:25 inet n - n - - smtpd${SERVICES}${services}`)
  await execute('postfix', ['-c', etc, 'start'])
  return {
    address,
    etc,
    log: () => readFile(inside('log'), 'utf8').catch(() => ''), // not written to yet
    async close() {
      await execute('postfix', ['-c', etc, 'stop']).catch(() => undefined) // not started, or gone already
      await rm(folder, { recursive: true, force: true })
    },
  }
}
