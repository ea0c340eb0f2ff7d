import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** A program that came to its end. */
export interface Ended {
  code: number
  /** Standard output and standard error. */
  said: string
  stdout: string
}

/** A Debian root in which systemd runs as process 1. */
export interface Machine {
  /** Runs a program inside, whatever becomes of it. */
  attempt(program: string, ...args: string[]): Promise<Ended>
  /** Runs a program inside; rejects with its words when it fails. Resolves with what it wrote to standard output. */
  run(program: string, ...args: string[]): Promise<string>
  /** Switches it off. */
  stop(): Promise<void>
}

const BOOT_MS = 180_000
const STOP_MS = 90_000
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const NAMESPACES = ['-m', '-u', '-i', '-n', '-p', '-C', '-r', '-w']

/**
 * Where systemd does not run on this machine, the one in the root needs a control group of its own in each hierarchy. A pipe as
 * console: it prints nothing, and needs no terminal.
 */
const BOOT = `
keep=
if [ ! -d /run/systemd/system ]; then
  keep=--keep-unit
  for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    [ -e $hierarchy/cgroup.procs ] || continue
    mkdir -p $hierarchy/$1 && echo $$ >$hierarchy/$1/cgroup.procs
  done
fi
exec systemd-nspawn --directory "$2" --boot --register=no $keep --link-journal=no --machine "$1" --console=pipe`

/** True where systemd can be booted: as root, with systemd-nspawn. */
export const canBoot = (): boolean =>
  process.getuid?.() === 0 && spawnSync('systemd-nspawn', ['--version']).status === 0

/** Runs a program to its end. The event loop turns meanwhile, for servers of the test that it talks to. */
export async function execute(program: string, args: string[], env = process.env): Promise<Ended> {
  try {
    const running = promisify(execFile)(program, args, { env, maxBuffer: 64 << 20 })
    // A program that asks something must fail, not wait for an answer.
    running.child.stdin!.end()
    const { stdout, stderr } = await running
    return { code: 0, said: stdout + stderr, stdout }
  } catch (error) {
    const { code, stdout, stderr, message } = error as Error & { code: unknown } & Record<
        'stdout' | 'stderr',
        string
      >
    // Not a program that failed, but one that could not be started or was killed.
    if (typeof code !== 'number')
      throw new Error(`${program} ${args.join(' ')}: ${message}`, { cause: error })
    return { code, said: stdout + stderr, stdout }
  }
}

/** As `execute`, but rejects when the program fails. Resolves with its standard output. */
export async function must(program: string, args: string[], env = process.env): Promise<string> {
  const { code, said, stdout } = await execute(program, args, env)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${code}\n${said}`)
  return stdout
}

/** Boots the root. It shares the network of this machine: the tests' world is on loopback. */
export async function boot(root: string, name: string): Promise<Machine> {
  const nspawn = spawn('sh', ['-c', BOOT, 'boot', name, root], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [nspawn.stdout, nspawn.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const inside = (program: string, args: string[]): [string, string[]] => {
    const leader = readFileSync(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, 'utf8').trim()
    const bare = ['env', '-i', `PATH=${PATH}`, 'LC_ALL=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive']
    return ['nsenter', ['-t', leader, ...NAMESPACES, ...bare, program, ...args]]
  }
  await booted(nspawn, inside, () => said)
  return {
    attempt: (program, ...args) => execute(...inside(program, args)),
    run: (program, ...args) => must(...inside(program, args)),
    stop: async () => {
      const gone = once(nspawn, 'exit')
      await execute(...inside('systemctl', ['poweroff']))
      // Its processes end with it; systemd-nspawn takes them along.
      const late = setTimeout(() => nspawn.kill('SIGKILL'), STOP_MS)
      await gone
      clearTimeout(late)
      // Empty ones only can be removed, from the leaves on.
      spawnSync('sh', [
        '-c',
        `find /sys/fs/cgroup/${name} /sys/fs/cgroup/*/${name} -depth -type d -exec rmdir {} +`,
      ])
    },
  }
}

/** Waits for the end of the boot; rejects with what it said when there is none. */
async function booted(
  nspawn: ChildProcess,
  inside: (program: string, args: string[]) => [string, string[]],
  said: () => string,
): Promise<void> {
  const end = Date.now() + BOOT_MS
  while (nspawn.exitCode === null && Date.now() < end) {
    const { stdout } = await execute(...inside('systemctl', ['is-system-running']))
    if (/^(running|degraded)/.test(stdout)) return
    await sleep(200)
  }
  nspawn.kill('SIGKILL')
  throw new Error(`systemd did not come up in the root: ${said()}`)
}
