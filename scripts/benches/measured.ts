/** Measures processes: CPU time and memory from /proc (proc(5)), and system calls with perf. Linux only. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'

/** Linux reports CPU time in hundredths of a second (USER_HZ) on all platforms that Node supports. */
const TICK_SECONDS = 0.01

interface Process {
  pid: number
  parent: number
  /** CPU time of the process in seconds, over all its threads. */
  own: number
  /** CPU time of its children that have ended, in seconds. */
  children: number
}

function readProcess(pid: number): Process | null {
  const stat = readStat(`/proc/${pid}/stat`)
  return stat && { pid, ...stat }
}

function readStat(file: string): (Omit<Process, 'pid'> & { name: string }) | null {
  try {
    const text = readFileSync(file, 'latin1')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const seconds = (at: number): number => (fields[at]! + fields[at + 1]!) * TICK_SECONDS
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    return { name, parent: fields[1]!, own: seconds(11), children: seconds(13) }
  } catch {
    return null // The process has ended in the meantime.
  }
}

/** Returns the processes and all their descendants. */
function family(roots: readonly number[]): Process[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const processes = all.map((name) => readProcess(Number(name))).filter((process) => process !== null)
  const found = new Set(roots)
  for (let size = 0; size !== found.size;) {
    size = found.size
    for (const { pid, parent } of processes) if (found.has(parent)) found.add(pid)
  }
  return processes.filter(({ pid }) => found.has(pid))
}

/** Returns the CPU time so far in seconds, including all descendants, even ended ones. */
export function processorSeconds(roots: readonly number[]): number {
  return family(roots).reduce((sum, { own, children }) => sum + own + children, 0)
}

/**
 * Returns the CPU time of each thread of a process so far, in seconds, with the thread names that the kernel reports.
 */
export function threadSeconds(pid: number): { id: number; name: string; seconds: number }[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    const thread = readStat(`/proc/${pid}/task/${id}/stat`)
    return thread ? [{ id: Number(id), name: thread.name, seconds: thread.own }] : []
  })
}

/** Returns the current memory in bytes, including all descendants. Shared pages are counted once (PSS). */
export function memoryBytes(roots: readonly number[]): number {
  return family(roots).reduce((sum, { pid }) => sum + proportionalBytes(pid), 0)
}

function proportionalBytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))![1]) * 1024
  } catch {
    return 0 // The process has ended in the meantime.
  }
}

/** Returns the resident memory of one process in bytes (RSS). */
export function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) * 1024
}

/** Samples memory every 500 ms. Returns a function that stops sampling and returns the maximum in bytes. */
export function watchMemory(roots: readonly number[]): () => number {
  let peak = memoryBytes(roots)
  const look = (): void => void (peak = Math.max(peak, memoryBytes(roots)))
  const timer = setInterval(look, 500)
  return () => {
    clearInterval(timer)
    look()
    return peak
  }
}

const SYNCS = ['fsync', 'fdatasync', 'sync_file_range', 'msync'].map((name) => `syscalls:sys_enter_${name}`)

/** Whether perf can count system calls here: it must be installed, and this process must run as root. */
export function canCountSyncs(): boolean {
  try {
    execFileSync('perf', ['stat', '-e', SYNCS.join(','), 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false // perf isn't installed or isn't allowed, so the column stays empty.
  }
}

/**
 * Counts the system calls that wait for the disk, over all threads and descendants. perf counts in the kernel. A tracer
 * such as strace would slow the processes down and change how many messages share a commit.
 * @returns a function that stops counting and returns the count
 */
export async function countSyncs(roots: readonly number[]): Promise<() => Promise<number>> {
  const pids = family(roots).map(({ pid }) => pid)
  const perf = spawn('perf', ['stat', '-x', ';', '-e', SYNCS.join(','), '-p', pids.join(',')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let report = ''
  perf.stderr.on('data', (chunk: Buffer) => (report += chunk.toString()))
  // perf doesn't report when it is ready.
  await new Promise((resolve) => setTimeout(resolve, 300))
  return async () => {
    const closed = once(perf, 'close')
    perf.kill('SIGINT')
    await closed
    const counts = report.split('\n').map((line) => Number(line.split(';')[0]))
    return counts.filter(Number.isFinite).reduce((sum, count) => sum + count, 0)
  }
}

/** Returns the median. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
}

/** Returns the quantile at `part`, which is from 0 to 1. */
export function quantile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
}
