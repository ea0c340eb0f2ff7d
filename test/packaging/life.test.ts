/**
 * The life of an installation in a clean Debian root: install, send, upgrade with mail in the spool, remove, purge; with
 * systemd as process 1, by the tarball, and without systemd. Takes minutes: `./scripts/test packaging`.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { on } from '../world/behaviour.ts'
import type { World } from '../world/world.ts'
import { boot, canBoot, execute, must, type Machine } from './machine.ts'
import { configure, internet, lastEvent, send, setUp, submit } from './operator.ts'
import { build, carry, makeRoot, type Built } from './packages.ts'

const wanted = process.env.POSTHASTE_TEST_PACKAGING === '1'
const MINUTES = 60_000

describe.skipIf(!wanted || !canBoot())(
  'an installation (skipped unless ./scripts/test packaging, as root, with systemd-nspawn)',
  () => {
    const work = join(tmpdir(), `posthaste-packaging-${process.pid}`)
    const root = join(work, 'root')
    const conffile = join(root, 'etc/posthaste/posthaste.toml')
    const data = join(root, 'var/lib/posthaste')
    let older: Built
    let newer: Built

    beforeAll(async () => {
      mkdirSync(work, { mode: 0o700 })
      const made = makeRoot(root)
      older = await build('0.1.0', join(work, 'older'))
      newer = await build('0.1.1', join(work, 'newer'), '--maintainer', 'Mail team <mail@example.com>')
      await made
      for (const { folder, deb } of [older, newer]) carry(root, folder, [deb])
      carry(root, newer.folder, [newer.tarball, 'SHA256SUMS', 'install'])
    }, 15 * MINUTES)

    afterAll(() => {
      // What is still mounted must not be removed with the rest.
      if (!existsSync(join(root, 'proc/self'))) rmSync(work, { recursive: true, force: true })
    })

    test(
      'the package has no lintian errors or warnings',
      async () => {
        const { code, stdout } = await execute('lintian', [
          '--fail-on',
          'error,warning',
          join(older.folder, older.deb),
        ])
        expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
        const field = (name: string) => must('dpkg-deb', ['-f', join(newer.folder, newer.deb), name])
        expect(await field('Maintainer')).toBe('Mail team <mail@example.com>\n')
      },
      15 * MINUTES,
    )

    describe('with systemd', () => {
      let machine: Machine
      let world: World

      beforeAll(async () => {
        world = await internet()
        machine = await boot(root, `posthaste-${process.pid}`)
      }, 5 * MINUTES)

      afterAll(async () => {
        await machine?.stop()
        await world?.close()
      }, 5 * MINUTES)

      const apt = (...args: string[]) => machine.run('apt-get', '-y', '-q', ...args)
      const shown = async (property: string): Promise<string> =>
        (await machine.run('systemctl', 'show', '--value', '-p', property, 'posthaste')).trim()
      const exists = (path: string): boolean => existsSync(join(root, path))

      test(
        'the package keeps mail on upgrade, keeps settings and data on removal, and keeps nothing on purge',
        async () => {
          const told = await apt('install', `/packages/${older.deb}`)
          expect(told).toContain('Set hostname in /etc/posthaste/posthaste.toml')
          expect(await shown('ActiveState')).toBe('inactive')
          expect(await shown('UnitFileState')).toBe('enabled')

          const address = configure(root, world)
          const key = await setUp(machine, world)
          expect(await shown('StatusText')).toBe(`Accepting mail at http://${address}:8025.`)
          const user = await machine.run('ps', '-o', 'user=', '-p', await shown('MainPID'))
          expect(user.trim()).toBe('posthaste')
          const owners = ['-c', '%U:%G %a', '/var/lib/posthaste', '/var/lib/posthaste/posthaste.db']
          expect(await machine.run('stat', ...owners, '/etc/posthaste/posthaste.toml')).toBe(
            'posthaste:posthaste 700\nposthaste:posthaste 600\nroot:posthaste 640\n',
          )

          const mailbox = world.mailboxOf('mx.customer.test')
          await send(address, key, 'first@customer.test')
          await submit(address, key, 'second@customer.test')
          await mailbox.waitFor(2, 2 * MINUTES)

          world.exchanger('mx.customer.test').behave(on('rcpt', '450 4.2.1 the mailbox is busy'))
          const people = Array.from({ length: 30 }, (_, n) => `person${n}@customer.test`)
          const ids = await Promise.all(people.map((to) => send(address, key, to)))
          const settings = readFileSync(conffile, 'utf8')
          await machine.run('posthaste', 'backup', '/var/lib/posthaste/before-upgrade.tar.gz')
          expect(await apt('install', `/packages/${newer.deb}`)).not.toContain('Set hostname')
          expect(readFileSync(conffile, 'utf8')).toBe(settings)
          expect(await shown('ActiveState')).toBe('active')
          expect((await machine.attempt('posthaste', 'status')).stdout).toContain('version 0.1.1')
          expect(mailbox).toHaveLength(2)

          world.exchanger('mx.customer.test').behave(undefined)
          const look = async (): Promise<void> => {
            await machine.attempt('posthaste', 'queue', 'retry')
            const events = await Promise.all(ids.map((id) => lastEvent(address, key, id)))
            expect(events.filter((event) => event !== 'delivered')).toEqual([])
          }
          await vi.waitFor(look, { timeout: 5 * MINUTES, interval: 2000 })
          expect(
            mailbox
              .slice(2)
              .flatMap(({ envelope }) => envelope.to)
              .sort(),
          ).toEqual(people.sort())

          const pid = await shown('MainPID')
          await machine.run('systemctl', 'reload', 'posthaste')
          expect(await shown('MainPID')).toBe(pid)
          await machine.run('kill', '-KILL', pid)
          await vi.waitFor(
            async () => {
              expect(await shown('MainPID')).not.toBe(pid)
              expect(await shown('ActiveState')).toBe('active')
            },
            { timeout: 3 * MINUTES, interval: 500 },
          )

          await apt('remove', 'posthaste')
          expect(exists('usr/lib/posthaste')).toBe(false)
          expect(readdirSync(data)).toContain('posthaste.db')
          expect(readFileSync(conffile, 'utf8')).toBe(settings)
          await apt('install', `/packages/${newer.deb}`)
          expect(await shown('ActiveState')).toBe('active')
          expect(await lastEvent(address, key, ids[0]!)).toBe('delivered')

          await apt('purge', 'posthaste')
          for (const path of ['var/lib/posthaste', 'etc/posthaste', 'lib/systemd/system/posthaste.service'])
            expect({ path, exists: exists(path) }).toEqual({ path, exists: false })
          expect(await machine.run('find', '/etc', '/usr', '/var/lib/systemd', '-name', '*posthaste*')).toBe(
            '',
          )
          expect(await machine.run('id', '-un', 'posthaste')).toBe('posthaste\n')
          expect(await machine.run('systemctl', 'list-units', '--failed', '--no-legend')).toBe('')
        },
        15 * MINUTES,
      )

      test(
        'the tarball changes nothing in a dry run, keeps settings on upgrade, and settings and mail on --uninstall',
        async () => {
          // As root works on hardened machines.
          const strict = 'umask 077; exec sh /packages/install "$@"'
          const install = (...args: string[]) => machine.run('sh', '-c', strict, 'install', ...args)
          const home = 'usr/local/lib/posthaste'
          const dry = await install('--dry-run', `/packages/${newer.tarball}`)
          expect(dry).toContain('Checksum OK.')
          expect(dry).toContain('Dry run: nothing was changed.')
          expect({ home: exists(home), settings: existsSync(conffile) }).toEqual({
            home: false,
            settings: false,
          })

          expect(await install(`/packages/${newer.tarball}`)).toContain('not started. Set hostname')
          configure(root, world)
          const settings = readFileSync(conffile, 'utf8')
          await machine.run('systemctl', 'start', 'posthaste')
          expect(await machine.run('posthaste', 'version')).toContain('posthaste 0.1.1')
          // /usr/local/man is a link to /usr/local/share/man.
          expect(await machine.run('man', '-w', 'posthaste')).toMatch(
            /^\/usr\/local\/.*\/man1\/posthaste\.1\.gz\n$/,
          )
          const pid = await shown('MainPID')
          expect(await install(`/packages/${newer.tarball}`)).toContain('keeping the existing')
          expect(await shown('ActiveState')).toBe('active')
          expect(await shown('MainPID')).not.toBe(pid)
          expect(readFileSync(conffile, 'utf8')).toBe(settings)

          await machine.run('sh', `/${home}/install`, '--uninstall')
          expect(await machine.run('find', '/usr/local', '-name', '*posthaste*')).toBe('')
          expect(readdirSync(data)).toContain('posthaste.db')
          expect(readFileSync(conffile, 'utf8')).toBe(settings)
          await machine.run('rm', '-r', '/var/lib/posthaste', '/etc/posthaste')
        },
        10 * MINUTES,
      )

      test(
        'the installed unit is valid with an exposure of at most 2.0, and installs a man page and completions',
        async () => {
          await apt('install', `/packages/${newer.deb}`)
          const verified = await machine.attempt('systemd-analyze', 'verify', 'posthaste.service')
          expect(verified).toMatchObject({ code: 0, said: '' })
          await machine.run('systemd-analyze', 'security', '--threshold=20', 'posthaste.service')
          expect(await machine.run('man', 'posthaste')).toContain('posthaste - self-hosted email delivery')
          const completions = ['bash-completion/completions/posthaste', 'zsh/vendor-completions/_posthaste']
          for (const path of [...completions, 'fish/vendor_completions.d/posthaste.fish'])
            expect({ path, exists: exists(`usr/share/${path}`) }).toEqual({ path, exists: true })
          await apt('purge', 'posthaste')
        },
        5 * MINUTES,
      )
    })

    test(
      'loses no mail after a kill and during an upgrade without systemd',
      async () => {
        const inside = (...args: string[]) => must('chroot', [root, ...args], INSIDE)
        await inside('mount', '-t', 'proc', 'proc', '/proc')
        const daemons: ChildProcess[] = []
        try {
          await inside('dpkg', '-i', `/packages/${older.deb}`)
          const unconfigured = await execute('chroot', [root, 'posthaste', 'serve'], INSIDE)
          expect(unconfigured).toMatchObject({ code: 1 })
          expect(unconfigured.said).toContain('hostname is missing')
          appendFileSync(conffile, 'hostname = "mail.example.com"\n')

          const first = await startSandbox(root, daemons)
          const post = async (to: string): Promise<string> => {
            const response = await fetch(`${first.url}/emails`, {
              method: 'POST',
              headers: { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' },
              body: JSON.stringify({ from: 'hello@example.test', to, subject: 'Kept', text: 'Still here?' }),
            })
            expect(response.status).toBe(200)
            return ((await response.json()) as { id: string }).id
          }
          const deferred = await post('defer@customer.test')
          const plain = await Promise.all(
            Array.from({ length: 30 }, (_, n) => post(`person${n}@customer.test`)),
          )
          await end(daemons[0]!, 'SIGKILL')
          await inside('dpkg', '-i', `/packages/${newer.deb}`)
          expect(await inside('posthaste', 'version')).toContain('posthaste 0.1.1')

          const { url, key } = await startSandbox(root, daemons)
          const state = async (id: string): Promise<string> => {
            const answer = await fetch(`${url}/emails/${id}`, { headers: { authorization: `Bearer ${key}` } })
            return ((await answer.json()) as { last_event: string }).last_event
          }
          const look = async (): Promise<void> => {
            const states = await Promise.all(plain.map(state))
            expect(states.filter((one) => one !== 'delivered')).toEqual([])
            // Whether its first attempt was recorded before the kill is chance; it waits either way.
            expect(['sent', 'delivery_delayed']).toContain(await state(deferred))
          }
          await vi.waitFor(look, { timeout: 5 * MINUTES, interval: 1000 })
          await end(daemons[1]!, 'SIGTERM')
          await inside('dpkg', '-P', 'posthaste')
          expect(existsSync(data)).toBe(false)
        } finally {
          for (const daemon of daemons) daemon.kill('SIGKILL')
          await inside('umount', '/proc')
        }
      },
      15 * MINUTES,
    )
  },
)

/** The environment of programs within another root: nothing that names files outside. */
const INSIDE: NodeJS.ProcessEnv = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }

/** Starts the sandbox by the installed program; returns its address and key, which it prints. */
async function startSandbox(root: string, daemons: ChildProcess[]): Promise<{ url: string; key: string }> {
  const env = {
    ...INSIDE,
    POSTHASTE_DATA_DIR: '/var/lib/posthaste',
    POSTHASTE_HTTP__LISTEN: '127.0.0.1:0',
    POSTHASTE_LIMITS__RATE_PER_SECOND: '1000',
  }
  const daemon = spawn('chroot', [root, '/usr/bin/posthaste', 'serve', '--sandbox'], { env })
  daemons.push(daemon)
  let said = ''
  for (const stream of [daemon.stdout, daemon.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  await vi.waitFor(() => expect(said).toMatch(/Bearer re_/), { timeout: 2 * MINUTES, interval: 100 })
  return { url: /curl (http:\S+)\/emails/.exec(said)![1]!, key: /Bearer (re_\w+)/.exec(said)![1]! }
}

async function end(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(daemon, 'exit')
  daemon.kill(signal)
  await ended
}
