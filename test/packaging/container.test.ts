/**
 * The image, built offline on a root file system of Debian's packages, and run as container/compose.yaml runs it: unprivileged,
 * read-only, without any capability. Takes minutes: `./scripts/test packaging`. POSTHASTE_TEST_TARBALL names a tarball of
 * ./scripts/package, which is built otherwise.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { LIMITS, openPodman, type Podman, type Running } from './podman.ts'

const project = join(import.meta.dirname, '..', '..')
const wanted = process.env.POSTHASTE_TEST_PACKAGING === '1'
const there = (program: string): boolean => spawnSync(program, ['--version']).status === 0
const able = process.getuid?.() === 0 && ['mmdebstrap', 'buildah', 'podman'].every(there)

const IMAGE = 'localhost/posthaste:test'
const HEALTH = ['/usr/lib/posthaste/runtime/node', '/usr/lib/posthaste/appliance/healthcheck.js']
/** As container/compose.yaml has it. */
const HARDENED = [
  '--read-only',
  '--tmpfs',
  '/tmp',
  '--cap-drop',
  'all',
  '--security-opt',
  'no-new-privileges',
]

/** Runs a program to its end; throws with its words when it fails. */
function must(program: string, args: string[], env = process.env): void {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${status}\n${stdout}${stderr}`)
}

describe.skipIf(!wanted || !able)(
  'the container image (skipped unless ./scripts/test packaging, as root, with buildah and podman)',
  () => {
    const work = mkdtempSync(join(tmpdir(), 'posthaste-container-'))
    let podman: Podman

    beforeAll(() => {
      podman = openPodman(join(work, 'storage'))
      const base = join(work, 'base.tar')
      // No shell, no user, no package manager: glibc and the C++ runtime.
      must('mmdebstrap', ['--variant=extract', '--include=libc6,libgcc-s1,libstdc++6', 'bookworm', base])
      let tarball = process.env.POSTHASTE_TEST_TARBALL
      if (tarball === undefined) {
        must(join(project, 'scripts/package'), ['--out', join(work, 'packages')])
        const name = readdirSync(join(work, 'packages')).find((one) => one.endsWith('.tar.gz'))!
        tarball = join(work, 'packages', name)
      }
      const build = ['--tool', 'buildah', '--base-archive', base, '--tarball', tarball, '--tag', IMAGE]
      must(join(project, 'scripts/container'), build, podman.env)
    }, 600_000)

    afterAll(() => {
      podman.close()
      rmSync(work, { recursive: true, force: true })
    }, 60_000)

    const serving = (running: Running, line: RegExp): Promise<void> =>
      vi.waitFor(() => expect(running.output()).toMatch(line), { timeout: 120_000, interval: 100 })

    /** Starts the sandbox on a volume; its address and key, which it prints. */
    async function sandbox(name: string): Promise<{ running: Running; url: string; key: string }> {
      const settings = ['--env', 'POSTHASTE_HTTP__LISTEN=127.0.0.1:0']
      const volume = ['--volume', 'sandbox:/var/lib/posthaste']
      const options = [...HARDENED, '--network', 'host', ...settings, ...volume]
      const running = podman.run(name, ...options, IMAGE, 'serve', '--sandbox')
      await serving(running, /Bearer re_/)
      const url = /curl (http:\S+)\/emails/.exec(running.output())![1]!
      return { running, url, key: /Bearer (re_\w+)/.exec(running.output())![1]! }
    }

    test('delivers mail, finishes the delivery in flight on SIGTERM, and keeps mail in the volume', async () => {
      const first = await sandbox('first')
      const headers = { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' }
      const send = async (to: string): Promise<string> => {
        const body = JSON.stringify({ from: 'hello@example.test', to, subject: 'Boxed', text: 'Still here?' })
        const response = await fetch(`${first.url}/emails`, { method: 'POST', headers, body })
        expect(response.status).toBe(200)
        return ((await response.json()) as { id: string }).id
      }
      const state = async (url: string, id: string): Promise<string> => {
        const answer = await fetch(`${url}/emails/${id}`, { headers })
        return ((await answer.json()) as { last_event: string }).last_event
      }
      const plain = await send('ada@customer.test')
      await vi.waitFor(async () => expect(await state(first.url, plain)).toBe('delivered'), {
        timeout: 60_000,
        interval: 100,
      })
      expect(podman.exec('first', ...HEALTH)).toMatchObject({ status: 0 })

      const slow = await send('slow@customer.test')
      const inFlight = async (): Promise<number> => {
        const answer = await fetch(`${first.url}/queue/summary`, { headers })
        return ((await answer.json()) as { in_flight: number }).in_flight
      }
      await vi.waitFor(async () => expect(await inFlight()).toBe(1), { timeout: 60_000, interval: 50 })
      expect(await first.running.end('SIGTERM')).toBe(0)

      const second = await sandbox('second')
      expect(await state(second.url, plain)).toBe('delivered')
      expect(await state(second.url, slow)).toBe('delivered')
      expect(await second.running.end('SIGTERM')).toBe(0)
    }, 400_000)

    test('without a hostname, fails and reports the missing setting instead of starting the sandbox', () => {
      const { status, stderr } = podman.call(
        'run',
        '--rm',
        ...LIMITS,
        '--network',
        'none',
        ...HARDENED,
        IMAGE,
      )
      expect(status).toBe(1)
      expect(stderr).toContain('or as POSTHASTE_HOSTNAME.')
    })

    test('listens on low ports as an unprivileged user that has no name', async () => {
      const settings = ['--env', 'POSTHASTE_HOSTNAME=mail.example.com']
      const ports = ['--sysctl', 'net.ipv4.ip_unprivileged_port_start=25']
      const running = podman.run('real', ...HARDENED, '--network', 'none', ...settings, ...ports, IMAGE)
      await serving(running, /"msg":"started"/)

      const whole = podman.exec('real', ...HEALTH)
      expect(whole).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('/healthz answered 200') as string,
      })
      const inside = (script: string): string =>
        podman.exec('real', '/usr/lib/posthaste/runtime/node', '-p', script).stdout.trim()
      const status = inside("fs.readFileSync('/proc/1/status', 'utf8')")
      expect(status).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m)
      expect(status).toMatch(/^CapEff:\t0+$/m)
      expect(status).toMatch(/^NoNewPrivs:\t1$/m)
      expect(JSON.parse(inside("fs.readFileSync('/var/lib/posthaste/daemon.json', 'utf8')"))).toMatchObject({
        pid: 1,
        listeners: expect.arrayContaining([
          'smtp://0.0.0.0:25',
          'smtp://0.0.0.0:587',
          'smtps://0.0.0.0:465',
          'http://0.0.0.0:8025',
        ]) as string[],
      })
      expect(
        inside("try { fs.writeFileSync('/usr/lib/posthaste/x', '') } catch (error) { error.code }"),
      ).toBe('EROFS')

      const setup = ['exec', '--interactive', 'real', 'posthaste', 'setup', '--email', 'ops@example.com']
      expect(typed(podman, setup, 'a long pass phrase for tests\n')).toMatchObject({ status: 0 })
      expect(podman.exec('real', 'posthaste', 'domain', 'add', 'example.com')).toMatchObject({ status: 0 })
      expect(podman.exec('real', 'posthaste', 'audit').stdout).toMatch(/10001 .command./)
      expect(await running.end('SIGTERM')).toBe(0)
    }, 300_000)

    test('exits on SIGTERM even if PID 1 is a command other than the daemon', async () => {
      const waits = ['setup', '--email', 'ops@example.com']
      const settings = ['--env', 'POSTHASTE_HOSTNAME=mail.example.com']
      const running = podman.run('waits', ...HARDENED, '--network', 'none', ...settings, IMAGE, ...waits)
      let code: number | null | undefined
      running.child.once('exit', (status) => (code = status))
      await vi.waitFor(
        () => {
          // What comes before the launcher runs is lost; it is sent again.
          podman.call('kill', '--signal', 'TERM', 'waits')
          expect(code).toBe(143)
        },
        { timeout: 60_000, interval: 500 },
      )
    }, 120_000)
  },
)

/** A podman command with something on its standard input. */
function typed(podman: Podman, args: string[], input: string): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync('podman', ['--cgroup-manager=cgroupfs', ...args], {
    env: podman.env,
    input,
    encoding: 'utf8',
  })
  return { status, said: stdout + stderr }
}
