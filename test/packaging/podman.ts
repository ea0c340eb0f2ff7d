/**
 * podman with a storage of its own, for tests of the image, as root. Its containers share the network of the machine or have none:
 * what is tested is the image, not podman.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A container that runs in the foreground of this process. */
export interface Running {
  readonly name: string
  readonly child: ChildProcess
  /** Everything it printed so far. */
  output(): string
  /** Sends a signal to the first process of the container; its exit code, null where the container had to be killed. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** How a program ended and what it said. */
export interface Said {
  status: number | null
  stdout: string
  stderr: string
}

export interface Podman {
  /** Its environment, in which scripts/container finds the same storage. */
  readonly env: NodeJS.ProcessEnv
  call(...args: string[]): Said
  /** `podman run` with these options, image and command. */
  run(name: string, ...args: string[]): Running
  /** A command in a running container, by the user of the image. */
  exec(name: string, ...command: string[]): Said
  /** Removes containers, volumes and images. */
  close(): void
}

/** Limits that a machine without CAP_SYS_RESOURCE can give. */
export const LIMITS = ['--ulimit', 'nofile=1024:20000', '--ulimit', 'nproc=4096:4096']

/**
 * crun refuses machines with control groups of both versions; in a mount namespace of its own those of version 2 are put out of sight.
 */
const HIDDEN = [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  'sh',
  '-c',
  'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman --cgroup-manager=cgroupfs "$@"',
  'podman',
]

/** Opens a storage under a folder. `vfs` copies each layer, and needs no support of the kernel. */
export function openPodman(folder: string): Podman {
  mkdirSync(folder, { recursive: true })
  const conf = join(folder, 'storage.conf')
  const [root, run] = [join(folder, 'root'), join(folder, 'run')]
  writeFileSync(conf, `[storage]\ndriver = "vfs"\ngraphroot = "${root}"\nrunroot = "${run}"\n`)
  const env = { ...process.env, CONTAINERS_STORAGE_CONF: conf }
  const [program, ...before] = HIDDEN as [string, ...string[]]
  const call = (...args: string[]): Said => {
    const { status, stdout, stderr } = spawnSync(program, [...before, ...args], { env, encoding: 'utf8' })
    return { status, stdout, stderr }
  }
  return {
    env,
    call,
    exec: (name, ...command) => call('exec', name, ...command),
    run(name, ...args) {
      const all = [...before, 'run', '--rm', '--interactive', '--name', name, ...LIMITS, ...args]
      const child = spawn(program, all, { env, stdio: ['pipe', 'pipe', 'pipe'] })
      let said = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
      const ended = once(child, 'exit') as Promise<[number | null]>
      return {
        name,
        child,
        output: () => said,
        async end(signal) {
          // podman passes on to the container what it is sent, and ends with its exit code.
          child.kill(signal)
          const [code] = await ended
          return code
        },
      }
    },
    close() {
      call('rm', '--all', '--force', '--time', '0')
      call('volume', 'rm', '--all', '--force')
      call('rmi', '--all', '--force')
    },
  }
}
