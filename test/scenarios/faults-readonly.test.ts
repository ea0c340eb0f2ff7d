import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, writeConfig } from '../world/daemon.ts'
import { startSandboxDaemon, type SandboxDaemon } from '../world/sandbox-daemon.ts'

/**
 * The kernel finds an error in the file system and makes it read-only under the daemon, as ext4 does with
 * errors=remount-ro.
 */

let folder: string
let disk: string
/** The kernel's name for the device; undefined if this user can't mount one. */
let device: string | undefined

const command = (name: string, ...args: string[]): string =>
  execFileSync(name, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim()

function mount(): string {
  command('mount', '-o', 'loop,errors=remount-ro', join(folder, 'image'), disk)
  const name = /^\/dev\/(loop\d+)$/.exec(command('findmnt', '-no', 'SOURCE', disk))?.[1]
  if (name === undefined) throw new Error('mounted, and not as a loop device')
  return name
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'posthaste-readonly-'))
  disk = join(folder, 'disk')
  await mkdir(disk)
  const image = await open(join(folder, 'image'), 'w')
  await image.truncate(96_000_000)
  await image.close()
  try {
    command('mkfs.ext4', '-q', '-F', join(folder, 'image'))
    device = mount()
  } catch {
    // Not running as root, or in a container without loop devices.
  }
})
afterAll(async () => {
  if (device !== undefined) command('umount', '-l', disk)
  await rm(folder, { recursive: true, force: true })
})

const email = { from: 'a@example.test', to: 'defer@customer.test', subject: 's', text: 't' }

/** Returns the SMTP reply. */
async function bySmtp(daemon: SandboxDaemon): Promise<string | undefined> {
  const port = Number(/STARTTLS on [\d.]+:(\d+)/.exec(daemon.output())![1])
  const auth = { user: 'posthaste', pass: daemon.apiKey }
  const transport = createTransport({ host: '127.0.0.1', port, tls: { rejectUnauthorized: false }, auth })
  try {
    return (await transport.sendMail(email)).response
  } catch (error) {
    return (error as { response?: string }).response
  } finally {
    transport.close()
  }
}

test('rejects mail on a read-only disk, still serves stored mail, and has all of it afterwards', async (context) => {
  if (device === undefined) return context.skip('a file system of its own can only be mounted by root')
  const dataDir = join(disk, 'data')
  await mkdir(dataDir)
  const env = { POSTHASTE_STORAGE__MIN_FREE_MB: '8', POSTHASTE_STORAGE__RESERVE_MB: '4' }
  const daemon = await startSandboxDaemon({ dataDir, env })
  let id = ''
  try {
    const accepted = await daemon.call('POST', '/emails', email)
    expect(accepted.status).toBe(200)
    id = (accepted.body as { id: string }).id

    await writeFile(`/sys/fs/ext4/${device}/trigger_fs_error`, '1')
    expect(await daemon.call('POST', '/emails', email)).toMatchObject({
      status: 503,
      body: { name: 'application_error' },
    })
    expect(await bySmtp(daemon)).toMatch(/^451 4\.3\.0 /)
    expect((await daemon.call('GET', '/readyz')).status).toBe(503)
    expect(await daemon.call('GET', `/emails/${id}`)).toMatchObject({ status: 200, body: { id } })
    expect(daemon.output()).toContain('an email was refused: it could not be stored')
    expect(await daemon.end('SIGTERM')).toBe(1)
    expect(daemon.output()).toContain('Nothing is lost that was accepted before.')
  } finally {
    await daemon.end('SIGKILL')
  }

  const config = join(folder, 'posthaste.toml')
  const listen = { http: { listen: ['127.0.0.1:0'] }, smtp: { starttls: [], implicit_tls: [] } }
  await writeConfig(config, { hostname: 'mail.sender.test', data_dir: dataDir, ...listen })
  const { code, stderr } = await run(['serve', '--config', config])
  expect(code).toBe(1)
  expect(stderr).toMatch(/^Cannot write .*: EROFS: .*\. The file system is read-only\. .*\n$/)

  command('umount', disk)
  // Replays the journal and clears the error. Exit code 1 means corrected (fsck(8)).
  command('sh', '-c', 'fsck.ext4 -p "$0" || test $? = 1', join(folder, 'image'))
  device = mount()
  // Of a message being written to the sandbox's inbox, only the file name reached the disk.
  await writeFile(join(dataDir, 'inbox', 'cut-off.json'), '')
  const next = await startSandboxDaemon({ dataDir, env })
  try {
    const { body } = await next.call('GET', '/emails')
    expect((body as { data: { id: string }[] }).data.map((one) => one.id)).toEqual([id])
    expect((await next.call('POST', '/emails', email)).status).toBe(200)
  } finally {
    await next.end('SIGTERM')
  }
}, 120_000)
